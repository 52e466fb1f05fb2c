/** Labels of internationalised names as people type them (RFC 3492; the browser has only the other direction). */

const PREFIX = 'xn--';
/** Parameters of RFC 3492 §5. */
const [BASE, T_MIN, T_MAX, SKEW, DAMP, INITIAL_BIAS, INITIAL] = [36, 1, 26, 38, 700, 72, 128];

function digitOf(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30 + 26;
  return code >= 0x61 && code <= 0x7a ? code - 0x61 : BASE;
}

/** RFC 3492 §6.1. */
function adapt(delta: number, points: number, isFirst: boolean): number {
  delta = Math.floor(delta / (isFirst ? DAMP : 2));
  delta += Math.floor(delta / points);
  let k = 0;
  for (; delta > ((BASE - T_MIN) * T_MAX) / 2; k += BASE) delta = Math.floor(delta / (BASE - T_MIN));
  return k + Math.floor(((BASE - T_MIN + 1) * delta) / (delta + SKEW));
}

/** RFC 3492 §6.2; undefined for what is not an encoding. */
function decode(text: string): string | undefined {
  const end = text.lastIndexOf('-');
  const points = [...text.slice(0, Math.max(0, end))].map((character) => character.charCodeAt(0));
  let [n, i, bias] = [INITIAL, 0, INITIAL_BIAS];
  for (let at = end + 1; at < text.length; ) {
    const before = i;
    for (let [weight, k] = [1, BASE]; ; k += BASE) {
      const digit = at < text.length ? digitOf(text.charCodeAt(at++)) : BASE;
      if (digit >= BASE) return undefined;
      i += digit * weight;
      const threshold = Math.min(T_MAX, Math.max(T_MIN, k - bias));
      if (digit < threshold) break;
      weight *= BASE - threshold;
    }
    bias = adapt(i - before, points.length + 1, before === 0);
    n += Math.floor(i / (points.length + 1));
    i %= points.length + 1;
    if (n > 0x10ffff) return undefined;
    points.splice(i++, 0, n);
  }
  return String.fromCodePoint(...points);
}

/** The label in Unicode; the same for a label that is not internationalised, or whose encoding is none. */
export function unicodeLabel(label: string): string {
  return label.startsWith(PREFIX) ? (decode(label.slice(PREFIX.length)) ?? label) : label;
}
