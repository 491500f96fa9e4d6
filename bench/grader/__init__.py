"""The grader that every snapshot carries: standard library, openpyxl, pypdf and python-docx, nothing of OfficeTown.

It judges an exported tree as hostile: links are not followed, nothing of the tree is imported or executed, and sizes are
bounded. Files of this package import one another relatively, so that a copy of the folder runs by itself.
"""
