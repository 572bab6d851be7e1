"""What is checked beside a search: is a distributed training right, and where does its time go?"""
