"""The dashboard: pages in NiceGUI on the API's application. `shell.py` says how a page joins."""
