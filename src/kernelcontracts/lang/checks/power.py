def check_view(v): return []
def check_entry(v): return []
