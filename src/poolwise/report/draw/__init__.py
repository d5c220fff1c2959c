"""How things look: mosaics, matplotlib figures, SVG charts, sprites, and the colours that all share."""
