"""Which networks are there?"""
