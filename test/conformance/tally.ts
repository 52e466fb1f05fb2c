/** Asks everybody everything, judges our answers, and counts. */
import type { DecodedMessage } from '../support/message.js';
import { type ReferenceName, startReferences } from '../support/reference-servers.js';
import { type AskedZone, type Exchange, exchange, type Ours } from './comparison.js';
import { meaningOf } from './meaning.js';
import { printQuestion, type Way } from './questions.js';
import type { Verdict } from './verdict.js';

export interface Tally {
  compared: number;
  readonly agreed: Map<ReferenceName, number>;
  readonly loaded: Map<ReferenceName, number>;
  /** Answers by what decided over them. */
  readonly decided: Map<string, number>;
  readonly faults: string[];
}

/** `zones`: as the references get them. */
export async function compare(
  zones: readonly AskedZone[],
  ours: Ours,
  ways: readonly Way[],
  judge: (exchange: Exchange) => Verdict,
): Promise<Tally> {
  const references = await startReferences(zones);
  const tally: Tally = { compared: 0, agreed: new Map(), loaded: new Map(), decided: new Map(), faults: [] };
  const count = <K>(counts: Map<K, number>, key: K): void => void counts.set(key, (counts.get(key) ?? 0) + 1);
  try {
    for (const way of ways) {
      await exchange(way, zones, ours, references, (heard) => {
        const { by, fault, agreed } = judge(heard);
        tally.compared++;
        count(tally.decided, by);
        for (const name of heard.theirs.keys()) count(tally.loaded, name);
        for (const name of agreed) count(tally.agreed, name);
        if (fault === undefined) return;
        const theirs = [...heard.theirs].map(([name, answer]) => `${name} ${printMeaning(answer)}`);
        const question = `${way} ${printQuestion(heard.question)} of ${heard.apex}`;
        tally.faults.push([`${fault}, ${by}: ${question}`, ...theirs, `we ${printMeaning(heard.ours)}`].join('\n'));
      });
    }
  } finally {
    await references.stop();
  }
  for (const [apex, reason] of ours.refused) tally.faults.push(`${apex} is refused: ${reason}`);
  return tally;
}

/** For people: rdata as characters. */
function printMeaning(answer: DecodedMessage): string {
  return JSON.stringify(meaningOf(answer)).replace(/\b(?:[0-9a-f]{2}){3,}\b/g, (rdata) =>
    Buffer.from(rdata, 'hex')
      .toString('latin1')
      .replace(/[^!-~]/g, '.'),
  );
}

export function report(t: { comment(text: string): void }, { compared, agreed, loaded, decided }: Tally): void {
  const shares = [...agreed].map(([name, count]) => `${name} ${((100 * count) / loaded.get(name)!).toFixed(2)} %`);
  const rulings = [...decided].sort((a, b) => b[1] - a[1]).map(([name, count]) => `${name} ${count}`);
  t.comment(`${compared} answers; the same as ${shares.sort().join(', ')}; decided by ${rulings.join(', ')}`);
}
