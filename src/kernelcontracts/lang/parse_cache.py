from __future__ import annotations
def parse_shipped(sources):
    from kernelcontracts.lang.parse import parse
    out=[]
    for s in sources:
        r=parse(s)
        if r.file is None: raise ValueError(r.diagnostics)
        out.append((r.file,s))
    return out
