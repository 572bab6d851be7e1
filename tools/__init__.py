"""What writes pages, and pictures of them."""
