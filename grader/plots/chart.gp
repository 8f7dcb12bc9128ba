# Lines over numbers or over named places, with a key beside them.
#   log_x, log_y   1 or 0
#   key_width, name_width   characters of the longest name in the key, along x
#   points         of each line
#   $labels        of the lines, for the key
#   $places        names along x, if any: then x counts 0, 1, ...
#   $values        a block for each line: x, value or "?"

if (log_x) { set logscale x 10 }
if (log_y) { set logscale y 10 }
set key at screen 0.985,0.86 vertical maxrows 99 samplen 4
set rmargin at screen 0.88 - wide(key_width, 14)

# Names along x stand upright if they are long, and as many as have room.
places = |$places|
if (places > 0) {
  set xrange [-0.5:places - 0.5]
  set xtics (nowhere)
  if (name_width > 3) {
    set xtics rotate by 90 right
    set bmargin at screen 0.12 + wide(name_width, 14) * 1280 / 720
  }
  step = (places + 39) / 40
  do for [i = 0:places - 1:step] { set xtics add (tic($places[i + 1]) i) }
}

# Colour, dash and symbol differ, so that the lines can be told apart in grey, too.
interval = points > 40 ? points / 12 : 1  # of many points not each has its symbol
plot for [i = 1:|$labels|] $values index i - 1 using 1:2 with linespoints lw 2 lc rgb colour(i - 1) \
    dt 1 + (i - 1) % 5 pt 4 + (i - 1) % 10 pointinterval interval ps dot title $labels[i]
