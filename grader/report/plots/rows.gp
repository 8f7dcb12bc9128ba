# Stage by stage: panels beside each other share their rows, whose names stand once, at the left.
# Rows count downwards from 1; above them lies a line for the label of each rule.
#   rules          how many a panel has at most
#   origin         where bars begin, or 0
#   $panels        a text for each panel
#   $bars          panel, row, begin, value, end of the row, text behind it
#   $rules         panel, rule, value, colour, text
# Panels, rows, series and rules count from 0; the last series is drawn last.

rows = |$rows|
panels = |$panels|
size = size_of_rows(rows + rules)
small = font(size)
gap = panels > 1 ? 0.1 : 0.0  # of a panel's width
panel_width = (0.95 - wide(longest, size)) / panels * (1 - gap)
# The axis goes on after the largest point until its text has room.
most = x_high
low = x_low / 1.3
text_share = min(0.5, wide(9, size) / panel_width)
high = x_high * (x_high / low) ** (text_share / (1 - text_share))
x(panel, ms) = panel + (1 - gap) * log10(ms / low) / log10(high / low)

unset border
unset grid
set lmargin at screen 0.031 + wide(longest, size)
set xrange [0:panels - gap]
set yrange [rows + 1:-rules]
set ytics scale 0 (nowhere) font small
do for [row = 1:rows] { set ytics add (tic($rows[row]) row) }
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
  set label $panels[panel + 1] at x(panel, high), graph 1 right offset 0,0.7 textcolor rgb ink
  if (origin > 0) {
    set arrow from x(panel, origin), 0.3 to x(panel, origin), rows + 1 nohead back \
        lc rgb "#888888" lw 1.5
  }
}

colour_of(i) = int(number($series[i + 1], 1))
symbol_of(i) = symbol(int(number($series[i + 1], 2)))
last = |$series| - 1
point_size(i) = (i < last ? 1.2 : 1.5) * dot * min(1, size / 11)
top(line) = line - rules + 0.7
line_font = font(min(size, 10))
middle = sqrt(low * high)

plot $bars using (x($1, $3)):($2 + 1):(x($1, $4) - x($1, $3)):(0) with vectors nohead lw 2 lc rgb "#d0d0d0", \
     for [i = -2:-1] $rules using (only($4 == i, x($1, $3))):(top($2)):(0):(rows + 1 - top($2)) \
         with vectors nohead lw 2 dt dash(i) lc rgb colour(i), \
     $rules using (only($3 <= middle, x($1, $3))):(top($2)):5:(colour($4)) \
         with labels left offset 0.5,0 boxed font line_font textcolor rgb variable, \
     $rules using (only($3 > middle, x($1, $3))):(top($2)):5:(colour($4)) \
         with labels right offset -0.5,0 boxed font line_font textcolor rgb variable, \
     $bars using (x($1, $5)):($2 + 1):6 with labels left offset 0.9,0 boxed font small textcolor rgb ink, \
     for [i = 0:last] $points using (only($3 == i, x($1, $4))):($2 + 1):(x($1, $5)):(x($1, $6)) \
         with xerrorbars pt symbol_of(i) ps point_size(i) lw 1.5 lc rgb colour(colour_of(i)), \
     for [i = 0:last] keyentry with points pt symbol_of(i) ps 1.4 * dot \
         lc rgb colour(colour_of(i)) title last == 0 ? "" : rest($series[i + 1], 4)
