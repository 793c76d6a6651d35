"""How is one run computed?"""
