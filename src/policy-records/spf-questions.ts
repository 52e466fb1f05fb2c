/** How much a receiver has to ask for an SPF record, as far as our own zones tell (RFC 7208 §4.6.4). */
import { LONGEST_TEXT, type PolicyFault, quoted } from './fault.js';
import type { KnownNames } from './known.js';
import { isSpf, type readSpf, type Spf, type SpfQuestion } from './spf.js';

const MOST_QUESTIONS = 10;
const MOST_VOID = 2;
const MOST_MX = 10;
/** Questions that are counted. */
const MOST_COUNTED = 25;

export function questionFaults(owner: string, spf: Spf, known: KnownNames, read: typeof readSpf): PolicyFault[] {
  const count = new Count(owner, known, read);
  count.follow(spf, [owner]);
  return count.faults();
}

class Count {
  private asked = 0;
  private readonly empty: string[] = [];
  /** Whether something leads to names of which nothing is known here. */
  private isOpen = false;
  private readonly found: PolicyFault[] = [];

  constructor(
    private readonly owner: string,
    private readonly known: KnownNames,
    private readonly read: typeof readSpf,
  ) {}

  /** `path`: the records that lead to this one. */
  follow({ questions }: Spf, path: readonly string[]): void {
    for (const question of questions) {
      if (this.asked >= MOST_COUNTED) {
        this.isOpen = true;
        return;
      }
      this.asked++;
      if (question.domain === undefined || question.kind === 'ptr') this.isOpen = true;
      else if (question.kind === 'include' || question.kind === 'redirect') this.enter(question, question.domain, path);
      else this.lookAt(question, question.domain);
    }
  }

  private enter({ term }: SpfQuestion, domain: string, path: readonly string[]): void {
    const texts = this.known.texts(domain);
    if (!texts) {
      this.isOpen = true;
      return;
    }
    if (path.includes(domain)) {
      this.broken('spf-loop', `${quoted(term)} leads back to ${domain}`, `Remove ${quoted(term)} from ${path.at(-1)}.`);
      return;
    }
    const records = texts.filter((text) => isSpf(text));
    const [first] = records;
    if (texts.length === 0) this.empty.push(term);
    if (first === undefined) {
      this.broken(
        'spf-include-missing',
        `${quoted(term)} leads to ${domain}, which has no SPF record`,
        `Add one to ${domain}, or remove the term from ${path.at(-1)}.`,
      );
    } else if (records.length > 1) {
      this.broken(
        'spf-include-several',
        `${quoted(term)} leads to ${domain}, which has ${records.length} SPF records`,
        `Merge them into one at ${domain}.`,
      );
    } else if (first.length > LONGEST_TEXT) this.isOpen = true;
    else this.follow(this.read(first, domain), [...path, domain]);
  }

  private lookAt({ kind, term }: SpfQuestion, domain: string): void {
    const some = this.known.count(domain, kind === 'mx' ? 'mx' : 'address');
    if (some === 0) this.empty.push(term);
    if (kind === 'mx' && (some ?? 0) > MOST_MX) {
      this.broken(
        'spf-mx',
        `${quoted(term)} leads to ${some} MX records, and receivers read no more than ${MOST_MX}`,
        'Name the addresses of the mail servers with ip4: and ip6: in its place.',
      );
    }
  }

  faults(): PolicyFault[] {
    const { asked, empty, owner } = this;
    if (asked > MOST_QUESTIONS) {
      const least = this.isOpen ? 'at least ' : '';
      this.found.push({
        code: 'spf-look-ups',
        text: `the SPF record of ${owner} takes ${least}${asked} DNS look-ups, and receivers stop after ${MOST_QUESTIONS} and ignore the whole record`,
        remedy:
          'Remove terms that are not needed, or replace include, a and mx by the addresses behind them (ip4:, ip6:).',
      });
    }
    if (empty.length > MOST_VOID) {
      this.found.push({
        code: 'spf-void-look-ups',
        text: `${empty.length} terms of the SPF record of ${owner} lead to names without any answer (${empty.slice(0, 3).map(quoted).join(', ')}), and receivers stop after ${MOST_VOID} and ignore the whole record`,
        remedy: 'Remove these terms, or add what they name.',
      });
    }
    return this.found;
  }

  private broken(code: string, text: string, remedy: string): void {
    this.found.push({
      code,
      text: `in the SPF record of ${this.owner}, ${text}; receivers ignore the whole record`,
      remedy,
    });
  }
}
