/** The nearest of some known names to one that was mistyped. */
import { distance } from 'fastest-levenshtein';

/** The candidate with the least edit distance, or undefined when none is near enough to be what was meant. */
export function nearMatch(typed: string, candidates: readonly string[]): string | undefined {
  const wanted = fold(typed);
  let best: string | undefined;
  let least = Math.max(2, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    const edits = distance(wanted, fold(candidate));
    if (edits < least) {
      least = edits;
      best = candidate;
    }
  }
  return best;
}

/** Spellings of one name (`dnsPort`, `dns_port`, `DNS-PORT`) are no difference. */
function fold(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}
