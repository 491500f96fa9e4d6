"""What each profession knows: a client's materials, the figures recomputed independently, and a colleague's review.

Start at `registry.py` (which professions there are), `base.py` (what one is) and `review.py` (the reviewer's eye).
"""
