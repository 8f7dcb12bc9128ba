# A roofline: for each layer a column of points, one for each stage, under the roof of the machine.
#   x_low, x_high, y_low, y_high   the ranges
#   slope, memory   TB/s, and the text that stands along it
#   $ceilings       TFLOP/s, text; the last one is the highest
#   $layers         operations for each byte
#   $points         layer from 0, operations for each byte, TFLOP/s

set lmargin at screen 0.085
set rmargin at screen 0.9  # behind it stand the names of the ceilings
set bmargin at screen 0.12
height(share) = (y_high / y_low) ** share

peak(i) = real(word($ceilings[i], 1))
roof = peak(|$ceilings|)
left = max(x_low, y_low / slope)
set arrow from left, left * slope to roof / slope, roof nohead back lc rgb quiet lw 2.5
below = 0.0
do for [i = 1:|$ceilings|] {
  set arrow from peak(i) / slope, peak(i) to x_high, peak(i) nohead back \
      lc rgb (i == 1 ? quiet : "#777777") lw 2.5 dt i
  below = max(peak(i), below * height(0.045))  # two names keep their distance
  set label word($ceilings[i], 2) . " " . word($ceilings[i], 3) at graph 1, first below \
      left offset 0.7,0 textcolor rgb quiet
}
angle = atan2(log10(x_high / x_low) * 0.745 * 720, log10(y_high / y_low) * 0.815 * 1280) * 180 / pi
begin = left * (x_high / x_low) ** 0.01
set label memory at begin, begin * slope * height(0.026) left rotate by angle textcolor rgb quiet

do for [i = 1:|$layers|] {
  x = real($layers[i])
  set arrow from x, y_low * height(0.06) to x, min(x * slope, roof) nohead back \
      lc rgb colour(i - 1) lw 1 dt 3
  set label sprintf("op %d", i) at x, y_low center offset 0,0.8 font ",16" textcolor rgb colour(i - 1)
}
plot for [i = 0:|$layers| - 1] $points using ($1 == i ? $2 : NaN):3 \
    with points pt symbol(i) ps 1.1 * dot lc rgb colour(i)
