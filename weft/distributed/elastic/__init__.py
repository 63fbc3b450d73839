"""What the launcher of several processes gives to scripts."""
