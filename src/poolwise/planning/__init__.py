"""`poolwise plan`: accuracy and cost over the number of codes, measured on small dictionaries, predicted for larger ones."""
