"""Documents as text: what a principal, a reviewer or a judge reads of a workbook, a document, a page or a mail."""
