/** A text as a QR code (ISO/IEC 18004), dark on light regardless of the colours of the page. */
import { generate } from 'lean-qr';

/** Width of the quiet zone around the code, in modules. */
const QUIET = 4;

export function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const code = generate(text);
  const rows = Array.from({ length: code.size }, (_, y) =>
    Array.from({ length: code.size }, (_, x) => (code.get(x, y) ? `M${x} ${y}h1v1h-1z` : '')).join(''),
  );
  const side = code.size + 2 * QUIET;
  return (
    <svg class="qr" role="img" aria-label={label} viewBox={`${-QUIET} ${-QUIET} ${side} ${side}`}>
      <path class="qr-ground" d={`M${-QUIET} ${-QUIET}h${side}v${side}h${-side}z`} />
      <path class="qr-modules" shape-rendering="crispEdges" d={rows.join('')} />
    </svg>
  );
}
