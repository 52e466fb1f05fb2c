/** Steps of zones: from files, and from primaries. */
import { UserError } from '../../base/errors.js';
import { parseIP, printIP } from '../../base/ip.js';
import type { Issue } from '../../base/result.js';
import { consumeCatalog } from '../../control/catalog-consumer/consumer.js';
import type { SignatureTreatment } from '../../control/imports/signatures.js';
import { type ImportInput, type ImportResult, importZone } from '../../control/imports/zone.js';
import type { ZoneItem } from '../../control/zones/item.js';
import { findZoneByName } from '../../control/zones/zones.js';
import type { ServerStatement, ZoneStatement } from '../../foreign/configuration.js';
import { makeSecondaryZone } from '../secondary/secondary-zone.js';
import { findOrAddServer } from './servers.js';
import { keysOfZone } from './signing-keys.js';
import { refusalOf, type Standing, type Step, type Target } from './step.js';

const SIGNED = 'signed-zone';

export async function zoneStep(target: Target, zone: ZoneStatement): Promise<Step> {
  const { name, place, role } = zone;
  const kind = role === 'primary' ? 'zone' : role === 'catalog' ? 'catalog' : 'secondary zone';
  const step = { kind, place, subject: name } as const;
  const known = await findZoneByName(target.context, name);
  if (known) return { ...step, detail: `serial ${known.soa.serial}`, standing: standingOfKnown(target, known, zone) };
  if (zone.refusal) {
    const { text: reason, remedy } = zone.refusal;
    return { ...step, detail: '', standing: { is: 'refused', reason, remedy } };
  }
  if (role === 'primary') return { ...step, ...(await primaryStep(target, zone)) };
  const from = zone.primaries.map(({ address }) => address).join(', ');
  return { ...step, detail: `from ${from}`, standing: { is: 'open', run: () => addSecondary(target, zone) } };
}

/** A zone of that name is not touched: it may have been changed here since. */
function standingOfKnown({ account }: Target, known: ZoneItem, { role }: ZoneStatement): Standing {
  if (known.account.id !== account) return { is: 'refused', reason: 'another account has a zone of this name' };
  const isSecondary = known.type === 'secondary';
  if (isSecondary === (role !== 'primary')) return { is: 'already' };
  const reason = isSecondary ? 'it is a secondary zone here' : 'it is a zone of its own here';
  return { is: 'refused', reason, remedy: 'Delete the zone here first: zoneplane zone delete' };
}

/** The zone is read and checked as a whole before anything is done. */
async function primaryStep(target: Target, zone: ZoneStatement): Promise<Pick<Step, 'detail' | 'standing'>> {
  try {
    const treatment = await treatmentFor(target, zone);
    const trial = await tryImport(target, zone, treatment);
    const { result } = trial;
    if (!result.imported) return { detail: '', standing: { is: 'refused', reason: describeIssues(result.issues) } };
    const signed = { refuse: '', strip: '', presigned: ', with its signatures', sign: ', signed with its keys' };
    return {
      detail: `${result.records} records, serial ${result.serial}${signed[trial.treatment.kind]}`,
      standing: { is: 'open', run: () => importNow(target, zone, trial.treatment) },
    };
  } catch (error) {
    return { detail: '', standing: refusalOf(error) };
  }
}

/** A zone whose file is signed, and which its server only serves, keeps its signatures. */
async function tryImport(
  target: Target,
  zone: ZoneStatement,
  treatment: SignatureTreatment,
): Promise<{ readonly result: ImportResult; readonly treatment: SignatureTreatment }> {
  const context = { ...target.context, dryRun: true };
  const result = await importZone(context, inputFor(target, zone, treatment));
  const isSigned = treatment.kind === 'refuse' && result.issues.some(({ code }) => code === SIGNED);
  if (!isSigned) return { result, treatment };
  const presigned = { kind: 'presigned' } as const;
  return { result: await importZone(context, inputFor(target, zone, presigned)), treatment: presigned };
}

async function treatmentFor(target: Target, { name, signing }: ZoneStatement): Promise<SignatureTreatment> {
  if (!signing) return { kind: 'refuse' };
  await target.unlock();
  return { kind: 'sign', keys: keysOfZone(name, signing, target.context.clock.nowMs(), target.listings) };
}

function inputFor({ account }: Target, { name, source }: ZoneStatement, signatures: SignatureTreatment): ImportInput {
  return { source: source!, origin: name, signatures, accountId: account };
}

async function importNow(target: Target, zone: ZoneStatement, treatment: SignatureTreatment): Promise<void> {
  const result = await importZone(target.context, inputFor(target, zone, treatment));
  if (!result.imported) throw new UserError(describeIssues(result.issues));
}

function describeIssues(issues: readonly Issue[]): string {
  const [first, ...more] = issues.filter(({ severity }) => severity === 'error');
  if (!first) return 'the zone cannot be taken over';
  const place = first.file === undefined ? '' : `${first.file}:${first.line ?? 1}: `;
  return `${place}${first.message}${more.length > 0 ? ` (and ${more.length} more: zoneplane zone check)` : ''}`;
}

async function addSecondary(target: Target, zone: ZoneStatement): Promise<void> {
  const { context, account } = target;
  const peersFor = async (): Promise<string[]> => {
    const peers: string[] = [];
    for (const server of zone.primaries) peers.push(await findOrAddServer(target, wantedOf(server)));
    return peers;
  };
  if (zone.role === 'catalog') await consumeCatalog(context, account, { name: zone.name, peers: await peersFor() });
  else await makeSecondaryZone(context, account, zone.name, peersFor);
}

function wantedOf({ address, port, key, tlsName }: ServerStatement) {
  return { address: printIP(parseIP(address)!), port: port ?? (tlsName === undefined ? 53 : 853), key, tlsName };
}
