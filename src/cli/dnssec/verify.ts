/** `zoneplane dnssec verify`: would a validating resolver believe a signed zone file? */
import { setImmediate } from 'node:timers/promises';
import { SystemClock } from '../../base/clock.js';
import { UserError } from '../../base/errors.js';
import { formatIssue, type Issue } from '../../base/result.js';
import { parseInstant } from '../../control/rules/instant.js';
import { Type } from '../../dns/codes.js';
import { NameError, parseName, printName, ROOT } from '../../dns/name.js';
import { type ParsedRecord, readZone } from '../../dns/zonefile/parser.js';
import { printRecord } from '../../dns/zonefile/writer.js';
import { issueOfFinding } from '../../dnssec/finding.js';
import type { PlacedRR } from '../../dnssec/signed-zone.js';
import { type Verification, verifyZone } from '../../dnssec/verify.js';
import { printTime } from '../../dnssec/verify-signatures.js';
import type { Command, CommandContext } from '../command.js';
import { watchInterruption } from '../operations/interruption.js';
import type { Progress } from '../terminal.js';
import { placeIssue } from '../zone-check.js';

interface VerifyOptions {
  readonly origin?: string;
  readonly at?: string;
  readonly json?: boolean;
}

interface ReadZoneFile {
  readonly apex: Uint8Array;
  readonly records: readonly PlacedRR[];
  readonly issues: readonly Issue[];
}

/** TTL of the DS records that are printed, seconds: the parent chooses its own. */
const DS_TTL = 3600;

export function addVerifyCommand(dnssec: Command, { terminal }: CommandContext): void {
  dnssec
    .command('verify')
    .description('verify a signed zone file as a validating resolver does; exit 1 if it has errors')
    .argument('<file>', 'zone file with DNSKEY, RRSIG and NSEC or NSEC3 records')
    .option('--origin <name>', 'name of the zone (default: the owner of its SOA record)')
    .option('--at <time>', 'a time such as 2027-01-31T12:00:00Z at which the signatures are checked (default: now)')
    .printsJson(
      'zoneplane dnssec verify example.com.signed',
      'zoneplane dnssec verify --at 2027-01-31T12:00:00Z a.signed',
    )
    .action(async (file: string, { origin, at, json }: VerifyOptions) => {
      const now = at === undefined ? Math.floor(new SystemClock().nowUs() / 1e6) : readTime(at);
      const progress = terminal.progress();
      const zone = readRecords(file, origin);
      const { signal, stop } = watchInterruption(terminal);
      const verification = await verify(zone, now, progress, signal).finally(stop);
      const issues = [...zone.issues, ...verification.findings.map(issueOfFinding)].map((issue) =>
        placeIssue(issue, file),
      );
      const isSound = !issues.some(({ severity }) => severity === 'error');
      terminal.exitCode = isSound ? 0 : 1;
      const name = printName(zone.apex);
      const ds = verification.ds.map((rdata) => printRecord({ owner: zone.apex, type: Type.ds, ttl: DS_TTL, rdata }));
      const ends = verification.firstExpiration;
      const firstExpiration = ends === undefined ? undefined : printTime(ends, now);
      if (json) {
        const { rrsets, signatures, denial } = verification;
        terminal.json({ zone: name, sound: isSound, rrsets, signatures, denial, firstExpiration, ds, issues });
        return;
      }
      for (const issue of issues) terminal.print(formatIssue(issue));
      if (isSound) terminal.print(summary(name, verification, firstExpiration));
      if (ds.length > 0) terminal.print(`The parent may publish:\n${ds.join('\n')}`);
    });
}

function readTime(text: string): number {
  const us = parseInstant(text);
  if (us === undefined) throw new UserError(`'${text}' is not a time`, 'Write it like 2027-01-31T12:00:00Z.', 2);
  return Math.floor(us / 1e6);
}

function readOrigin(text: string): Uint8Array {
  try {
    return parseName(text, ROOT);
  } catch (error) {
    if (error instanceof NameError)
      throw new UserError(`'${text}' is not a domain name: ${error.message}`, undefined, 2);
    throw error;
  }
}

function readRecords(file: string, origin: string | undefined): ReadZoneFile {
  const given = origin === undefined ? undefined : readOrigin(origin);
  const reading = readZone({ file }, given ? { origin: given } : {});
  const records: PlacedRR[] = [];
  for (const batch of reading.records()) for (const record of batch) records.push(placed(record));
  const apex = given ?? records.find(({ type }) => type === Type.soa)?.owner;
  if (!apex) throw new UserError(`${file} has no SOA record`, 'Name the zone with --origin.');
  return { apex, records, issues: reading.issues };
}

function placed({ owner, type, ttl = 0, rdata, file, line }: ParsedRecord): PlacedRR {
  return { owner, type, ttl, rdata, file, line };
}

async function verify(
  { apex, records }: ReadZoneFile,
  now: number,
  progress: Progress,
  signal: AbortSignal,
): Promise<Verification> {
  const steps = verifyZone(apex, records, now);
  try {
    for (;;) {
      const step = steps.next();
      if (step.done) return step.value;
      if (step.value !== undefined) progress.step(step.value, printName(apex));
      // Signals are heard between two steps.
      await setImmediate();
      signal.throwIfAborted();
    }
  } finally {
    progress.end();
  }
}

function summary(name: string, { rrsets, signatures, denial }: Verification, firstExpiration = 'unknown'): string {
  return `${name} is signed correctly: ${rrsets} RRsets, ${signatures} signatures, ${denial}; the first signature ends on ${firstExpiration}`;
}
