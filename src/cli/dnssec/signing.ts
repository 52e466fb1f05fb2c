/** `zoneplane dnssec enable|disable|status|keys|rollover|resign`: signing of zones. */
import { Argument, Option } from 'commander';
import {
  type DnssecEdit,
  deleteDnssec,
  editDnssec,
  getDnssec,
  listKeys,
  resignZone,
} from '../../control/dnssec/delegation.js';
import type { DnssecItem, KeyItem } from '../../control/dnssec/item.js';
import { startRollover } from '../../control/dnssec/rollover.js';
import { type SigningStatus, signingStatus } from '../../control/dnssec/status.js';
import { confirmDs } from '../../control/dnssec/watch.js';
import type { Context } from '../../control/kernel/context.js';
import { Type } from '../../dns/codes.js';
import { typeByCode } from '../../dns/rr/registry.js';
import type { Command, CommandContext } from '../command.js';
import { DATA_SETTINGS, printInstant, requireZoneNamed, withControl } from '../control.js';
import { addSettingOptions } from '../settings.js';
import { confirmName, type Terminal } from '../terminal.js';

/** Algorithms of new keys by the names that people type. */
const ALGORITHMS: Readonly<Record<string, 13 | 15>> = { ecdsap256sha256: 13, ed25519: 15 };

const algorithmOption = (): Option =>
  new Option('--algorithm <name>', 'algorithm of new keys').choices(Object.keys(ALGORITHMS));

export function addSigningCommands(dnssec: Command, context: CommandContext): void {
  addEnable(dnssec, context);
  addDisable(dnssec, context);
  addStatus(dnssec, context);
  addKeys(dnssec, context);
  addRollover(dnssec, context);
  addResign(dnssec, context);
}

const DENIALS = { nsec: 'NSEC', nsec3: 'NSEC3', compact: 'compact denial (RFC 9824)' } as const;

interface EnableOptions {
  readonly algorithm?: string;
  readonly denial?: 'nsec' | 'nsec3' | 'compact';
  readonly multiSigner?: 'on' | 'off';
  readonly signals?: 'on' | 'off';
  readonly parentalAgent?: 'on' | 'off';
  readonly json?: boolean;
}

function addEnable(dnssec: Command, { terminal, environment }: CommandContext): void {
  const enable = dnssec
    .command('enable')
    .description('sign a zone, and print the DS record for its parent')
    .argument('<zone>', 'name or identifier of the zone')
    .addOption(algorithmOption())
    .addOption(new Option('--denial <kind>', 'how absence is proven').choices(['nsec', 'nsec3', 'compact']))
    .addOption(
      new Option('--multi-signer <state>', 'whether DNSKEY records of other signers may be added').choices([
        'on',
        'off',
      ]),
    )
    .addOption(
      new Option(
        '--signals <state>',
        'whether the zone tells of the keys of zones whose name servers have names in it (RFC 9615)',
      ).choices(['on', 'off']),
    )
    .addOption(
      new Option(
        '--parental-agent <state>',
        'whether the zone takes the DS records of zones below it from their CDS records (RFC 7344)',
      ).choices(['on', 'off']),
    )
    .printsJson(
      'zoneplane dnssec enable example.com',
      'zoneplane dnssec enable dns.example --signals on',
      'zoneplane dnssec enable example.com --parental-agent on',
    );
  addSettingOptions(enable, DATA_SETTINGS).action(async (name: string, options: EnableOptions) => {
    await withControl(enable, environment, async (ctx, _, unlock) => {
      await unlock();
      const { id } = await requireZoneNamed(ctx, name);
      const item = await editDnssec(ctx, id, editOf(options));
      await tellStatus(ctx, id, item, terminal, options.json);
    });
  });
}

function editOf({ algorithm, denial, multiSigner, signals, parentalAgent }: EnableOptions): DnssecEdit {
  const flag = (state: 'on' | 'off' | undefined): boolean | undefined => state && state === 'on';
  return {
    status: 'active',
    denial,
    dnssec_multi_signer: flag(multiSigner),
    dnssec_signals: flag(signals),
    dnssec_parental_agent: flag(parentalAgent),
    algorithm: algorithm === undefined ? undefined : ALGORITHMS[algorithm],
  };
}

interface DisableOptions {
  readonly dsRemoved?: boolean;
  readonly remove?: boolean;
  readonly json?: boolean;
}

function addDisable(dnssec: Command, { terminal, environment }: CommandContext): void {
  const disable = dnssec
    .command('disable')
    .description('stop signing a zone: first the parent removes its DS record, then --remove removes the signatures')
    .argument('<zone>', 'name or identifier of the zone')
    .option('--ds-removed', 'the parent has no DS record any more; for parents that cannot be asked from here')
    .option('--remove', 'remove keys and signatures; refused while the parent may still have a DS record')
    .printsJson('zoneplane dnssec disable example.com', 'zoneplane dnssec disable example.com --remove');
  addSettingOptions(disable, DATA_SETTINGS).action(
    async (name: string, { dsRemoved, remove, json }: DisableOptions) => {
      await withControl(disable, environment, async (ctx) => {
        const { id } = await requireZoneNamed(ctx, name);
        if (dsRemoved) await confirmDs(ctx, id, null);
        if (remove) await deleteDnssec(ctx, id);
        else await editDnssec(ctx, id, { status: 'disabled' });
        await tellStatus(ctx, id, await getDnssec(ctx, id), terminal, json);
      });
    },
  );
}

function addStatus(dnssec: Command, { terminal, environment }: CommandContext): void {
  const status = dnssec
    .command('status')
    .description('say how a zone is signed, what its parent has, and who must do what next')
    .argument('<zone>', 'name or identifier of the zone')
    .printsJson('zoneplane dnssec status example.com');
  addSettingOptions(status, DATA_SETTINGS).action(async (name: string, { json }: { json?: boolean }) => {
    await withControl(status, environment, async (ctx) => {
      const { id } = await requireZoneNamed(ctx, name);
      await tellStatus(ctx, id, await getDnssec(ctx, id), terminal, json);
    });
  });
}

async function tellStatus(
  ctx: Context,
  id: string,
  item: DnssecItem,
  terminal: Terminal,
  json: boolean | undefined,
): Promise<void> {
  const status = await signingStatus(ctx, id);
  const { parent } = status;
  const ds = item.key?.ds?.line ?? null;
  if (json) {
    const { signedOwners, progress, firstExpiry, due, failure, signals } = status;
    const firstExpiryText = firstExpiry === undefined ? null : printInstant(firstExpiry);
    terminal.json({
      zone: item.zone,
      status: item.status,
      ds,
      denial: item.denial ?? null,
      signed_names: signedOwners,
      progress: progress ?? null,
      first_expiry: firstExpiryText,
      due,
      failure: failure ?? null,
      signals,
      parent: parent.servers,
      taken_by: parent.takenBy ?? null,
      could_take: parent.couldTake ?? null,
    });
    return;
  }
  terminal.print(`${item.zone}: ${item.status}. ${nextStep(item, parent.takenBy)}`);
  if (ds !== null) terminal.print(`  ${ds}`);
  for (const line of statusLines(item, status)) terminal.print(`  ${line}`);
}

function nextStep({ status, key }: DnssecItem, takenBy: string | undefined): string {
  switch (status) {
    case 'pending':
      if (takenBy) return `Its parent ${takenBy} takes this DS record by itself, when resolvers know the keys:`;
      return 'Add this DS record at the parent, usually at your registrar:';
    case 'active':
      return 'The parent has this DS record:';
    case 'pending-disabled':
      if (takenBy) return `Its parent ${takenBy} removes this DS record by itself. The zone stays signed until then:`;
      return 'Remove this DS record at the parent. The zone stays signed until then:';
    case 'disabled':
      return key ? 'The parent has no DS record. Remove the signatures with `--remove`.' : 'The zone is not signed.';
  }
}

function statusLines(
  item: DnssecItem,
  { signedOwners, progress, firstExpiry, due, failure, signals, parent }: SigningStatus,
): string[] {
  if (!item.key) return [];
  const ends = firstExpiry === undefined ? '' : `; the first signature ends on ${printInstant(firstExpiry)}`;
  const names = signedOwners === 1 ? '1 name is' : `${signedOwners} names are`;
  const lines = [`${names} signed${ends}; absence is proven by ${DENIALS[item.denial ?? 'nsec']}`];
  if (progress !== undefined) lines.push(`signing is under way: ${Math.floor(progress * 100)} %`);
  if (due > 0) lines.push(`${due} names are to be signed anew`);
  if (failure !== undefined) lines.push(`problem: ${failure}`);
  if (item.parentalAgent) lines.push('takes the DS records of zones below it from their CDS records (RFC 7344)');
  if (item.signals) lines.push('tells of the keys of zones whose name servers have names in it (RFC 9615)');
  if (signals.length > 0) lines.push(`registries find its keys also at ${signals.join(', ')} (RFC 9615)`);
  if (item.status.startsWith('pending') && parent.checkedAt === null) {
    lines.push('the servers of the parent have not been asked yet; a running server asks them every minute');
  }
  if (parent.couldTake) {
    lines.push(
      `its parent ${parent.couldTake.name} is served here, too, and could take its DS records by itself: zoneplane dnssec enable ${parent.couldTake.name} --parental-agent on`,
    );
  }
  for (const { server, ds } of parent.servers) {
    const has =
      ds === undefined ? 'did not answer' : ds.length === 0 ? 'has no DS record' : `has DS ${ds.join(' and ')}`;
    lines.push(`${server} ${has}`);
  }
  return lines;
}

function addKeys(dnssec: Command, { terminal, environment }: CommandContext): void {
  const keys = dnssec
    .command('keys')
    .description('list the keys of a zone, and what each one waits for')
    .argument('<zone>', 'name or identifier of the zone')
    .printsJson('zoneplane dnssec keys example.com');
  addSettingOptions(keys, DATA_SETTINGS).action(async (name: string, { json }: { json?: boolean }) => {
    await withControl(keys, environment, async (ctx) => {
      const { id } = await requireZoneNamed(ctx, name);
      const found = await listKeys(ctx, id);
      tellKeys(found.keys, terminal, json);
    });
  });
}

function tellKeys(keys: readonly KeyItem[], terminal: Terminal, json: boolean | undefined): void {
  const wait = ({ wait: own }: KeyItem): string => {
    if (!own) return '-';
    return `${own.waitingFor}${own.until === undefined ? '' : ` (until ${printInstant(own.until)})`}`;
  };
  if (json) {
    const shown = keys.map((key) => ({
      role: key.role,
      key_tag: key.tag,
      dnskey: typeByCode(Type.dnskey).contentOf(key.dnskey),
      algorithm: key.algorithmName,
      state: key.state,
      since: printInstant(key.since),
      waiting_for: key.wait?.waitingFor ?? null,
      until: key.wait?.until === undefined ? null : printInstant(key.wait.until),
      ds: key.ds?.line ?? null,
    }));
    terminal.json(shown);
    return;
  }
  const rows = keys.map((key) => [
    key.role.toUpperCase(),
    String(key.tag),
    key.algorithmName,
    key.state,
    printInstant(key.since),
    wait(key),
  ]);
  terminal.table(['role', 'tag', 'algorithm', 'state', 'since', 'waits until'], rows, 'The zone has no keys.');
  const records = keys.flatMap(({ ds }) => (ds ? [ds.line] : []));
  if (records.length > 0) terminal.print('DS records:');
  for (const line of records) terminal.print(`  ${line}`);
}

interface RolloverOptions {
  readonly algorithm?: string;
  readonly emergency?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

const EMERGENCY =
  'New keys are used at once, and old ones go without the usual waits. Resolvers that still have the old keys or signatures reject answers until they forget them, up to a day.';

function addRollover(dnssec: Command, { terminal, environment, isTerminal }: CommandContext): void {
  const rollover = dnssec
    .command('rollover')
    .description('replace keys step by step; every step waits until no resolver needs the old key')
    .argument('<zone>', 'name or identifier of the zone')
    .addArgument(new Argument('[role]', 'which key; not with --algorithm, which replaces both').choices(['zsk', 'ksk']))
    .addOption(algorithmOption())
    .option(
      '--emergency',
      'a private key is in foreign hands: wait for the parent only, not for what resolvers remember',
    )
    .option('--yes', 'do not ask on a terminal')
    .printsJson(
      'zoneplane dnssec rollover example.com zsk',
      'zoneplane dnssec rollover example.com --algorithm ed25519',
    );
  addSettingOptions(rollover, DATA_SETTINGS).action(
    async (name: string, role: 'zsk' | 'ksk' | undefined, { algorithm, emergency, yes, json }: RolloverOptions) => {
      if (emergency && isTerminal && !yes) await confirmName(name, EMERGENCY, 'no key was replaced');
      await withControl(rollover, environment, async (ctx, _, unlock) => {
        await unlock();
        const { id } = await requireZoneNamed(ctx, name);
        const { keys } = await startRollover(ctx, id, {
          role,
          emergency,
          algorithm: algorithm === undefined ? undefined : ALGORITHMS[algorithm],
        });
        tellKeys(keys, terminal, json);
      });
    },
  );
}

function addResign(dnssec: Command, { terminal, environment }: CommandContext): void {
  const resign = dnssec
    .command('resign')
    .description('replace all signatures of a zone, after the clock was wrong')
    .argument('<zone>', 'name or identifier of the zone')
    .printsJson('zoneplane dnssec resign example.com');
  addSettingOptions(resign, DATA_SETTINGS).action(async (name: string, { json }: { json?: boolean }) => {
    await withControl(resign, environment, async (ctx) => {
      const zone = await requireZoneNamed(ctx, name);
      await resignZone(ctx, zone.id);
      const { id, name: zoneName } = zone;
      if (json) terminal.json({ id, name: zoneName });
      else terminal.print(`All signatures of ${zoneName} are being replaced; a running server does it.`);
    });
  });
}
