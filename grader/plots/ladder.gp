# Stage by stage: panels beside each other share their rows, whose names stand once, at the left.
# Rows count downwards from 1; above them lies a line for the label of each reference.
#   references, layers     how many, at most
#   low, high, origin      of all points; where bars begin, or 0
#   longest                characters of the longest name
#   $names, $batches       a text for each row, for each panel
#   $points    panel, row, series (0: the sum; 1, 2, ...: a layer), median, low, high
#   $bars      panel, row, begin, sum, end of the row, text behind it
#   $lines     panel, line, milliseconds, colour, text
# Panels and lines count from 0.

rows = |$names|
panels = |$batches|
size = size_of_rows(rows + references)
small = font(size)
gap = panels > 1 ? 0.1 : 0.0  # of a panel's width
panel_width = (0.95 - wide(longest, size)) / panels * (1 - gap)
# The axis goes on after the largest point until its text has room.
most = high
low = low / 1.3
text_share = min(0.5, wide(9, size) / panel_width)
high = high * (high / low) ** (text_share / (1 - text_share))
x(panel, ms) = panel + (1 - gap) * log10(ms / low) / log10(high / low)

unset border
unset grid
set lmargin at screen 0.031 + wide(longest, size)
set xrange [0:panels - gap]
set yrange [rows + 1:-references]
set ytics scale 0 (nowhere) font small
do for [row = 1:rows] { set ytics add (tic($names[row]) row) }
tic_font = font(panels > 1 ? 10 : 14)
set xtics (nowhere) font tic_font
decade = panel_width / log10(high / low) * 1280  # where it is narrow, only every second has a number
do for [panel = 0:panels - 1] {
  do for [power = floor(log10(low)):floor(log10(min(high, 10 * most)))] {
    do for [digit = 1:(decade < 90 ? 1 : 9)] {
      ms = digit * 10.0 ** power
      if (ms >= low && ms <= high && (digit > 1 || decade > 46 || power % 2 == 0)) {
        set xtics add (digit > 1 ? "" : sprintf("%g", ms) x(panel, ms) digit > 1)
        if (digit == 1) {
          set arrow from x(panel, ms), graph 0 to x(panel, ms), graph 1 nohead back lc rgb pale
        }
      }
    }
  }
  do for [row = 1:rows] {
    set arrow from panel, row to panel + 1 - gap, row nohead back lc rgb pale
  }
  set arrow from panel, graph 0 to panel + 1 - gap, graph 0 nohead back lc rgb "#888888"
  set label $batches[panel + 1] at x(panel, high), graph 1 right offset 0,0.7 textcolor rgb ink
  if (origin > 0) {
    set arrow from x(panel, origin), 0.3 to x(panel, origin), rows + 1 nohead back \
        lc rgb "#888888" lw 1.5
  }
}

# A series is 0, the sum, or a layer; the sum is drawn last.
series(i) = i % (layers + 1)
shape(i) = int(word("9 7 5 13 11", i ? (i - 1) % 4 + 2 : 1))
paint(i) = i ? colour(i - 1) : 0x111111
point_size(i) = (i ? 1.2 : 1.5) * dot * min(1, size / 11)
top(line) = line - references + 0.7
only(condition, value) = condition ? value : NaN
line_font = font(min(size, 10))

plot $bars using (x($1, $3)):2:(x($1, $4) - x($1, $3)):(0) with vectors nohead lw 2 lc rgb "#d0d0d0", \
     for [i = -2:-1] $lines using (only($4 == i, x($1, $3))):(top($2)):(0):(rows + 1 - top($2)) \
         with vectors nohead lw 2 dt dash(i) lc rgb colour(i), \
     $lines using (only($3 <= sqrt(low * high), x($1, $3))):(top($2)):5:(colour($4)) \
         with labels left offset 0.5,0 boxed font line_font textcolor rgb variable, \
     $lines using (only($3 > sqrt(low * high), x($1, $3))):(top($2)):5:(colour($4)) \
         with labels right offset -0.5,0 boxed font line_font textcolor rgb variable, \
     $bars using (x($1, $5)):2:6 with labels left offset 0.9,0 boxed font small textcolor rgb ink, \
     for [i = 1:layers + 1] $points \
         using (only($3 == series(i), x($1, $4))):2:(x($1, $5)):(x($1, $6)) \
         with xerrorbars pt shape(series(i)) ps point_size(series(i)) lw 1.5 lc rgb paint(series(i)), \
     for [i = 1:layers + 1] keyentry with points pt shape(series(i)) ps 1.4 * dot \
         lc rgb paint(series(i)) title layers < 2 ? "" : i > layers ? "sum" : sprintf("op %d", i)
