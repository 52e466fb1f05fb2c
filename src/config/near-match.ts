/** Finds the known name that is nearest to a mistyped one. */
import { distance } from 'fastest-levenshtein';

/** The candidate with the smallest edit distance, or undefined when none is near enough to be the intended one. */
export function nearMatch(typed: string, candidates: readonly string[]): string | undefined {
  const wanted = fold(typed);
  let best: string | undefined;
  // More than half of a short word is another word.
  let least = Math.min(Math.max(2, Math.floor(wanted.length / 3)), Math.floor(wanted.length / 2)) + 1;
  for (const candidate of candidates) {
    const edits = distance(wanted, fold(candidate));
    if (edits < least) {
      least = edits;
      best = candidate;
    }
  }
  return best;
}

/** Makes spellings of one name (`dnsPort`, `dns_port`, `DNS-PORT`) equal. */
function fold(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}
