"""What `import fer_lightning as fl` offers; each name is imported when it is first used."""
