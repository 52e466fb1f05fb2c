/** `zoneplane cluster lost`: what a failover of PostgreSQL has lost and this node had, as changes that can be made again. */
import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { type LostFile, lostFiles } from '../../cluster/lost-entries.js';
import { readEntries } from '../../cluster/recent-entries.js';
import { nameOfOwnerKey, parseName } from '../../dns/name.js';
import { printRecord } from '../../dns/zonefile/writer.js';
import { findDataDirectory, hasDatabase } from '../../roles/process/data-directory.js';
import { openStore, type SqlValue, type Store } from '../../store/driver.js';
import { type AddedRow, addedRows } from '../../store/log/added-rows.js';
import { type ChangedRR, isMark, unpackRRs } from '../../store/log/changes.js';
import { type Entry, statementsOf } from '../../store/recording.js';
import { findZone } from '../../store/zones/zones.js';
import { type CommandContext, example } from '../command.js';
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
    const store =
      hasDatabase(directory) && existsSync(directory) ? openStore(directory, { readonly: true }) : undefined;
    for (const { path, first, last, atMs } of files) {
      terminal.print(`${path}: entries ${first} to ${last}, kept at ${new Date(atMs).toISOString()}`);
      for (const entry of readEntries(path)) {
        terminal.print(`  entry ${entry.number}`);
        for (const line of changesOf(entry, store)) terminal.print(`    ${line}`);
      }
    }
    store?.close();
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

/** Records as resolvers saw them go (-) and come (+), and who did what. */
function changesOf({ body }: Entry, store: Store | undefined): string[] {
  let apex = parseName('.');
  const lines: string[] = [];
  for (const { table, row } of addedRows(body)) {
    if (table === 'changes') {
      apex = apexOf(Number(row['zone']), store);
      if (row['rrs'] instanceof Uint8Array) lines.push(...unpackRRs(row['rrs']).flatMap((rr) => recordLine(rr, apex)));
    }
    // Earlier versions had this table.
    if (table === 'change_rrs') lines.push(...recordLine(recordOf(row), apex));
    if (table === 'events') lines.push(`${row['kind']} ${row['name'] ?? ''} by ${row['actor']}`.replace('  ', ' '));
  }
  return lines;
}

function apexOf(zone: number, store: Store | undefined): Uint8Array {
  const name = store && findZone(store, zone)?.name;
  return parseName(`${name ?? `zone-number-${zone}`}.`);
}

function recordOf(row: AddedRow['row']): ChangedRR {
  const record = { type: Number(row['type']), ttl: Number(row['ttl']), rdata: row['rdata'] as Uint8Array };
  return { ...record, op: row['op'] === 1 ? 1 : 0, owner_key: row['owner_key'] as Uint8Array };
}

function recordLine(record: ChangedRR, apex: Uint8Array): string[] {
  if (isMark(record)) return [];
  const { op, owner_key: key } = record;
  return [`${op === 1 ? '+' : '-'} ${printRecord({ ...record, owner: nameOfOwnerKey(key, apex) })}`];
}
