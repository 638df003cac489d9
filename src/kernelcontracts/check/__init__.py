"""The verb `kc check`: requests, claims, results, replay."""
