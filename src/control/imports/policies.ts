/** Judges the policies in a zone file, such as SPF and CAA records, by what the file itself says. */
import type { Issue } from '../../base/result.js';
import { Type } from '../../dns/codes.js';
import { lowerName, printName } from '../../dns/name.js';
import type { ParsedRecord } from '../../dns/zonefile/parser.js';
import { createJudge, type JudgedRecord, joinStrings, mayBePolicy, POLICY_TYPES } from '../../policy-records/judge.js';
import type { KnownNames } from '../../policy-records/known.js';
import type { ZoneChecker } from '../../zone/check.js';
import { wireName } from '../rules/names.js';

type Read = Pick<ParsedRecord, 'owner' | 'type' | 'rdata' | 'file' | 'line'>;

export interface PolicyReview {
  note(record: Read): void;
  finish(): Issue[];
}

/** Records that are judged; more make a file slow to read, and nobody reads so many sentences. */
const MOST_JUDGED = 10_000;
const MOST_OCTETS = 8 * 1024 * 1024;
const MOST_ISSUES = 1000;
const BUDGET = { names: 50_000, octets: MOST_OCTETS };

/** `checker`: has been given all records, and has finished. */
export function createPolicyReview(checker: Pick<ZoneChecker, 'lookUp'>): PolicyReview {
  const kept: (JudgedRecord & Pick<Issue, 'file' | 'line'>)[] = [];
  let octets = 0;
  let left = 0;
  return {
    note({ owner, type, rdata, file, line }) {
      if (!POLICY_TYPES.includes(type)) return;
      const record = { name: printName(lowerName(owner)).slice(0, -1), type, rdata };
      if (!mayBePolicy(record)) return;
      if (kept.length >= MOST_JUDGED || octets > MOST_OCTETS) left++;
      else {
        kept.push({ ...record, ...(file !== undefined && { file }), ...(line !== undefined && { line }) });
        octets += rdata.length;
      }
    },
    finish() {
      const judge = createJudge(namesOf(checker, kept), BUDGET);
      const issues: Issue[] = [];
      for (const record of kept) {
        if (issues.length >= MOST_ISSUES) break;
        const { file, line } = record;
        for (const { code, text, remedy } of judge(record)) {
          const place = { ...(file !== undefined && { file }), ...(line !== undefined && { line }) };
          issues.push({ severity: 'warning', code, message: `${text}. ${remedy}`, ...place });
        }
      }
      if (left > 0) {
        const message = `${left} more SPF, DKIM, DMARC, CAA and similar records were not judged`;
        issues.push({ severity: 'warning', code: 'policies-not-judged', message });
      }
      return issues;
    },
  };
}

function namesOf(checker: Pick<ZoneChecker, 'lookUp'>, kept: readonly JudgedRecord[]): KnownNames {
  const texts = new Map<string, string[]>();
  for (const { name, type, rdata } of kept) {
    if (type !== Type.txt) continue;
    const some = texts.get(name);
    if (some) some.push(joinStrings(rdata));
    else texts.set(name, [joinStrings(rdata)]);
  }
  const lookUp = (name: string) => {
    const wire = wireName(name);
    return wire && checker.lookUp(wire);
  };
  return {
    texts(name) {
      const found = lookUp(name);
      if (!found || found.isAlias) return undefined;
      // One that says no policy was not kept.
      return texts.get(name) ?? (found.hasOther ? [''] : []);
    },
    count(name, what) {
      const found = lookUp(name);
      if (!found) return undefined;
      if (found.isAlias) return what === 'address' ? 1 : undefined;
      return what === 'address' ? Number(found.hasAddress) : found.mx;
    },
  };
}
