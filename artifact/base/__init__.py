"""What does everything stand on?"""
