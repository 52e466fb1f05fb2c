/** `zoneplane cluster lost`: what a failover of PostgreSQL has lost and this node had, as changes that can be made again. */
import { type LostFile, lostFiles } from '../../cluster/lost-entries.js';
import { readEntries } from '../../cluster/recent-entries.js';
import { nameOfOwnerKey, parseName } from '../../dns/name.js';
import { printRecord } from '../../dns/zonefile/writer.js';
import { findDataDirectory } from '../../roles/process/data-directory.js';
import { openStore, type SqlValue, type Store } from '../../store/driver.js';
import { doneBy } from '../../store/log/added-rows.js';
import { type ChangedRR, isMark, unpackRRs } from '../../store/log/changes.js';
import { unpackStagedEvents } from '../../store/log/events.js';
import { type Entry, statementsOf } from '../../store/recording.js';
import { findZone } from '../../store/zones/zones.js';
import { type Command, type CommandContext, example } from '../command.js';
import { addSettingOptions, loadCommandSettings } from '../settings.js';

export function addLost(cluster: Command, { terminal, environment }: CommandContext): void {
  const lost = cluster
    .command('lost')
    .description(
      'print what a failover of PostgreSQL has lost and this node had, as changes; exit 1 if there is something',
    )
    .option('--json', 'print JSON, with all statements')
    .addHelpText(
      'after',
      `${example('zoneplane cluster lost')}

Nodes append again what all of them had. What could not be appended, because another history has begun or a node had
another one, is in files in the data directory; remove them when the changes were made again.`,
    );
  addSettingOptions(lost, ['dataDir']).action(({ json }: { json?: boolean }) => {
    const directory = findDataDirectory(loadCommandSettings(lost, environment).settings.dataDir);
    const files = lostFiles(directory);
    terminal.exitCode = files.length > 0 ? 1 : 0;
    if (json) return terminal.json(files.map(viewOf));
    if (files.length === 0) return terminal.print('No failover has left anything behind here.');
    const store = openStore(directory, { readonly: true });
    for (const { path, first, last, atMs } of files) {
      terminal.print(`${path}: entries ${first} to ${last}, kept at ${new Date(atMs).toISOString()}`);
      const changesOf = createReader(store);
      for (const entry of readEntries(path)) {
        terminal.print(`  entry ${entry.number}`);
        for (const line of changesOf(entry)) terminal.print(`    ${line}`);
      }
    }
    store.close();
  });
}

const viewOf = ({ path, first, last, atMs }: LostFile): object => ({
  ...{ path, first, last, kept_on: new Date(atMs).toISOString() },
  entries: readEntries(path).map(({ number, id, body }) => ({
    ...{ number, id },
    statements: [...statementsOf(body)].map(([text, values]) => ({ text, values: values.map(plain) })),
  })),
});

const plain = (value: SqlValue): unknown =>
  value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value;

type Row = Readonly<Record<string, SqlValue | undefined>>;

/**
 * Returns a function for the entries of a file in their order: records as resolvers saw them go (-) and come (+), and who did what. The
 * events of a large edit are stored before it happens, and become rows of their own later.
 */
function createReader(store: Store): (entry: Entry) => string[] {
  const stored = new Map<number, Map<number, string[]>>();

  function linesOf(table: string, row: Row, apex: Uint8Array): string[] {
    // Earlier versions had this table.
    if (table === 'change_rrs') return recordLine(recordOf(row), apex);
    if (table === 'changes' && row['rrs'] instanceof Uint8Array)
      return unpackRRs(row['rrs']).flatMap((rr) => recordLine(rr, apex));
    if (table === 'events') return [eventLine(row)];
    if (table === 'staged_events') {
      const parts = stored.get(Number(row['edit'])) ?? new Map<number, string[]>();
      stored.set(Number(row['edit']), parts);
      const events = unpackStagedEvents(String(row['events']));
      parts.set(Number(row['ord']), events.map(eventLine));
      // Those of later writes wait behind them, and have happened.
      if (events[0]?.at_us !== undefined) return events.map(eventLine);
    }
    return [];
  }

  return ({ body }) => {
    let apex = parseName('.');
    const lines: string[] = [];
    for (const done of doneBy(body)) {
      if (done.kind === 'added') {
        if (done.table === 'changes') apex = apexOf(Number(done.row['zone']), store);
        lines.push(...linesOf(done.table, done.row, apex));
      } else if (done.kind === 'happened') lines.push(...[...(stored.get(done.edit)?.values() ?? [])].flat());
      // They were printed when they happened.
      else lines.splice(lines.length - (stored.get(done.edit)?.get(done.part)?.length ?? 0));
    }
    return lines;
  };
}

const eventLine = ({ kind, name, actor }: Row): string => `${kind} ${name ?? ''} by ${actor}`.replace('  ', ' ');

function apexOf(zone: number, store: Store): Uint8Array {
  const name = findZone(store, zone)?.name;
  return parseName(`${name ?? `zone-number-${zone}`}.`);
}

function recordOf(row: Row): ChangedRR {
  const record = { type: Number(row['type']), ttl: Number(row['ttl']), rdata: row['rdata'] as Uint8Array };
  return { ...record, op: row['op'] === 1 ? 1 : 0, owner_key: row['owner_key'] as Uint8Array };
}

function recordLine(record: ChangedRR, apex: Uint8Array): string[] {
  if (isMark(record)) return [];
  const { op, owner_key: key } = record;
  return [`${op === 1 ? '+' : '-'} ${printRecord({ ...record, owner: nameOfOwnerKey(key, apex) })}`];
}
