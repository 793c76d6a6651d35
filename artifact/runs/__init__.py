"""How are runs made, kept, found and measured?"""
