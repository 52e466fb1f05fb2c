/** `zoneplane certificate` and `zoneplane ca`: what is certified, what stands in the way, and by whom. */
import { SystemClock } from '../base/clock.js';
import { UserError } from '../base/errors.js';
import { CAA_IDENTITIES } from '../certs/authority.js';
import { type CertificateState, stateOf } from '../certs/certificate-state.js';
import { AUTHORITY_NAMES } from '../config/authority-settings.js';
import { findDataDirectory } from '../roles/process/data-directory.js';
import { listRequests, type RequestRow } from '../store/certs/requests.js';
import { openStore, type Store } from '../store/driver.js';
import { requireSchema } from '../store/migrate.js';
import { wholeNumber } from './arguments.js';
import type { Command, CommandContext } from './command.js';
import { DATA_SETTINGS, printInstant } from './control.js';
import { addSettingOptions, loadCommandSettings } from './settings.js';
import type { Terminal } from './terminal.js';

interface Certified {
  readonly row: RequestRow;
  readonly state: CertificateState;
}

const MOST = 1_000_000;

export function addCertificateCommands(program: Command, context: CommandContext): void {
  const certificate = program.command('certificate');
  addList(certificate, context);
  addShow(certificate, context);
}

export function addAuthorityCommands(program: Command, context: CommandContext): void {
  const authority = program.command('ca');
  addAuthorities(authority, context);
  addRoot(authority, context);
}

function addList(certificate: Command, { terminal, environment }: CommandContext): void {
  const list = certificate
    .command('list')
    .description('list certificates and requests: their owner, their state, and when they expire')
    .option('--limit <count>', 'how many at most', wholeNumber(1, MOST, 'a number'), 100)
    .printsJson('zoneplane certificate list', 'zoneplane certificate list --json');
  addSettingOptions(list, DATA_SETTINGS).action(async ({ limit, json }: { limit: number; json?: boolean }) => {
    const { settings } = loadCommandSettings(list, environment);
    const all = await reading(settings.dataDir, (store, nowMs) => readAll(store, limit + 1, nowMs));
    const shown = all.slice(0, limit);
    if (json) return terminal.json(shown.map(viewCertified));
    const rows = shown.map(({ row, state }) => [
      state.names.join(','),
      row.owner_kind,
      state.status,
      state.authority || '-',
      printTime(state.certificates[0]?.expiresOnMs),
      printTime(row.next_at),
    ]);
    terminal.table(
      ['names', 'for', 'status', 'authority', 'expires', 'next step'],
      rows,
      'Nothing needs a certificate.',
    );
    if (all.length > limit) terminal.complain(`There are more. See them with --limit ${Math.min(MOST, limit * 10)}.`);
  });
}

function addShow(certificate: Command, { terminal, environment }: CommandContext): void {
  const show = certificate
    .command('show')
    .description('show one certificate: what proves control, what is missing, and who must act')
    .argument('<name>', 'a name in the certificate')
    .printsJson('zoneplane certificate show app.customer.example');
  addSettingOptions(show, DATA_SETTINGS).action(async (name: string, { json }: { json?: boolean }) => {
    const { settings } = loadCommandSettings(show, environment);
    const wanted = name.toLowerCase().replace(/\.$/, '');
    const found = await reading(settings.dataDir, (store, nowMs) =>
      readAll(store, MOST, nowMs).filter(({ state }) => state.names.includes(wanted)),
    );
    if (found.length === 0) throw new UserError(`nothing needs a certificate for ${wanted}`);
    if (json) terminal.json(found.map(viewCertified));
    else for (const one of found) tell(one, terminal);
  });
}

function tell({ row, state }: Certified, terminal: Terminal): void {
  terminal.print(`${state.names.join(', ')}: ${state.status}${state.authority && `, ${state.authority}`}`);
  terminal.print(`  needed by the ${row.owner_kind} ${row.owner}; next step ${printTime(row.next_at)}`);
  for (const { issuer, issuedBy, serialNumber, issuedOnMs, expiresOnMs } of state.certificates) {
    const kind = issuedBy === 'built_in' ? ' (the built-in authority, which browsers do not trust)' : '';
    terminal.print(`  issued by ${issuer}${kind}, serial ${serialNumber}`);
    terminal.print(`  good from ${printTime(issuedOnMs)} to ${printTime(expiresOnMs)}`);
  }
  for (const record of state.records) {
    if ('txtName' in record) terminal.print(`  ${record.status}: ${record.txtName} TXT "${record.txtValue}"`);
    else terminal.print(`  ${record.status}: ${record.httpUrl} answers ${record.httpBody}`);
  }
  for (const { message, actor } of state.errors) terminal.print(`  to be put right by the ${actor}: ${message}`);
}

function addAuthorities(authority: Command, { terminal, environment }: CommandContext): void {
  const list = authority
    .command('list')
    .description('list the certificate authorities, how they are reached, and their names in CAA records')
    .printsJson('zoneplane ca list');
  addSettingOptions(list).action(async ({ json }: { json?: boolean }) => {
    const { settings } = loadCommandSettings(list, environment);
    // Loaded only here: the code that makes certificates takes longer to load than all other commands together.
    const { directoriesOf } = await import('../roles/services/certificates.js');
    const directories = directoriesOf(settings);
    const authorities = AUTHORITY_NAMES.map((name) => ({
      name,
      directory: directories.get(name)?.url ?? null,
      caa_identities: CAA_IDENTITIES[name],
      default_order: settings.defaultCaOrder.indexOf(name) + 1 || null,
    }));
    if (json) return terminal.json(authorities);
    terminal.table(
      ['name', 'tried', 'CAA', 'reached at'],
      authorities.map(({ name, directory, caa_identities, default_order }) => [
        name,
        default_order === null ? 'when asked for' : String(default_order),
        caa_identities.join(','),
        directory ?? 'built in',
      ]),
      '',
    );
  });
}

function addRoot(authority: Command, { terminal, environment }: CommandContext): void {
  const root = authority
    .command('root')
    .description('print the root certificate of the built-in authority (PEM), which clients must trust')
    .example('zoneplane ca root > zoneplane-root.pem');
  addSettingOptions(root, DATA_SETTINGS).action(async () => {
    const { settings } = loadCommandSettings(root, environment);
    const { storedRootsPem } = await import('../certs/embedded/issuers.js');
    const pem = await reading(settings.dataDir, storedRootsPem);
    if (pem === '') throw new UserError('there is no root certificate yet', 'The first start of the server makes it.');
    terminal.write(pem);
  });
}

async function reading<Value>(dataDir: string, read: (store: Store, nowMs: number) => Value): Promise<Value> {
  const store = openStore(findDataDirectory(dataDir), { readonly: true });
  try {
    requireSchema(store);
    return store.snapshot(() => read(store, new SystemClock().nowMs()));
  } finally {
    store.close();
  }
}

function readAll(store: Store, limit: number, nowMs: number): readonly Certified[] {
  return listRequests(store, limit).map((row) => ({ row, state: stateOf(store, row, nowMs) }));
}

function printTime(ms: number | null | undefined): string {
  return printInstant(ms == null ? null : ms * 1000);
}

function viewCertified({ row, state }: Certified): object {
  return {
    id: state.id,
    owner: { kind: row.owner_kind, id: row.owner },
    status: state.status,
    authority: state.authority,
    method: state.method,
    names: state.names,
    serving: state.serving,
    validation_records: state.records,
    errors: state.errors,
    certificates: state.certificates.map(({ issuedOnMs, expiresOnMs, ...rest }) => ({
      ...rest,
      issuedOn: printTime(issuedOnMs),
      expiresOn: printTime(expiresOnMs),
    })),
    next_step_on: row.next_at === null ? null : printTime(row.next_at),
  };
}
