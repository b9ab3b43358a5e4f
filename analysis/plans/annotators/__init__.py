"""Plans of annotation studies: how sure agreement will be, by items, labels per item, and raters' accuracy."""
