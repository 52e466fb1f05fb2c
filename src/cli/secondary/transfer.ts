/** `zoneplane zone transfer`: zones move here from another server by AXFR. */
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SystemClock } from '../../base/clock.js';
import { AppError, messageOf, UserError } from '../../base/errors.js';
import type { Issue } from '../../base/result.js';
import type { SignatureTreatment } from '../../control/imports/signatures.js';
import type { ImportResult } from '../../control/imports/zone.js';
import type { Context } from '../../control/kernel/context.js';
import { parseZoneName } from '../../control/rules/names.js';
import { TransferFailed } from '../../transfer/in/failure.js';
import type { Primary } from '../../transfer/in/stream.js';
import type { Command, CommandContext } from '../command.js';
import { accountOf, KEY_SETTINGS, openServices, withControl } from '../control.js';
import { readSignatureTreatment, type SignaturesOptions } from '../dnssec/signatures-option.js';
import { addSettingOptions } from '../settings.js';
import { addPrimaryOptions, type PrimaryOptions, readKeyOption, readPin, readServer } from './primary-options.js';

interface TransferOptions extends PrimaryOptions, SignaturesOptions {
  readonly from: string;
  readonly list?: string;
  readonly replace?: boolean;
  readonly dryRun?: boolean;
  readonly init?: boolean;
  readonly account?: string;
  readonly json?: boolean;
}

const EVERYWHERE = ['0.0.0.0/0', '::/0'];

interface Outcome {
  readonly name: string;
  readonly result?: ImportResult;
  readonly refusal?: string;
  /** Records outside the zone. */
  readonly outside?: number;
}

export function addZoneTransfer(zone: Command, { terminal, environment }: CommandContext): void {
  const command = zone
    .command('transfer')
    .description('copy zones from another server by AXFR; they are ordinary zones here afterwards')
    .argument('[names...]', 'names of zones')
    .requiredOption('--from <address>', 'the server, such as 192.0.2.53 or 192.0.2.53#5353')
    .option('--list <file>', 'also the zones whose names stand in this file, one in a line')
    .option('--automatic-soa', 'leave out SOA and apex NS records, and use those of this service')
    .option('--presigned', 'serve signed zones with their signatures as they are; they are verified first')
    .option(
      '--keys <directory>',
      "sign signed zones here with their own keys: BIND's files, a .key beside each .private",
    )
    .option('--strip-dnssec', 'take a signed zone without its signatures and keys; remove its DS records first')
    .option('--replace', 'replace zones that exist already')
    .option('--dry-run', 'transfer and check everything, and store nothing')
    .option('--init', 'create the data directory first if it has no database yet')
    .option('--account <id>', 'account the zones belong to (default: the oldest)')
    .printsJson(
      'zoneplane zone transfer example.com --from 192.0.2.53',
      'zoneplane zone transfer example.com --from 192.0.2.53 --tsig-file transfer.key',
      'zoneplane zone transfer --list names.txt --from 192.0.2.53 --tls-name ns1.example.net',
    );
  addSettingOptions(addPrimaryOptions(command), [...KEY_SETTINGS, 'caBundle']).action(
    async (names: readonly string[], options: TransferOptions) => {
      const wanted = [...names, ...(options.list === undefined ? [] : readNames(options.list))];
      if (wanted.length === 0)
        throw new UserError('no zone is named', 'Name zones, or a file of names with --list.', 2);
      const signatures = await readSignatureTreatment(options);
      const without = options.init && !options.dryRun ? 'initialise' : 'refuse';
      const outcomes = await withControl(
        command,
        environment,
        async (context, settings, unlock) => {
          if (signatures.kind === 'sign') await unlock();
          const services = await openServices(command, environment, context);
          const account = accountOf(context, options);
          const key = await readKeyOption(context, services, account, options);
          const { readBundle } = await import('../../roles/services/certificates.js');
          const { createInstallationEgress } = await import('../../roles/process/listening.js');
          const clock = new SystemClock();
          // Who names a server at the command line has allowed it.
          const egress = createInstallationEgress({ ...settings, allowNetworks: EVERYWHERE }, context.settings, clock);
          const primary = primaryOf(options, key?.key, readBundle(settings.caBundle));
          const run = options.dryRun ? { ...context, egress, dryRun: true } : { ...context, egress };
          const all: Outcome[] = [];
          for (const name of wanted) {
            const outcome = await transferOne(run, primary, name, account, { ...options, signatures });
            all.push(outcome);
            if (!options.json) report(outcome, options, terminal);
          }
          return all;
        },
        without,
      );
      terminal.exitCode = outcomes.every(({ result }) => result?.imported) ? 0 : 1;
      if (options.json) terminal.json(outcomes.map(viewOutcome));
    },
  );
}

function readNames(path: string): string[] {
  try {
    const lines = readFileSync(path, 'utf8').split('\n');
    return lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'));
  } catch (error) {
    throw new UserError(`the list ${path} cannot be read: ${messageOf(error)}`, undefined, 2);
  }
}

function primaryOf(options: TransferOptions, key: Primary['key'], authorities: string | undefined): Primary {
  const { address, port } = readServer(options.from);
  const { tlsName, tlsPin } = options;
  const isTls = tlsName !== undefined || tlsPin !== undefined;
  const tls = { name: tlsName ?? null, pin: tlsPin === undefined ? null : readPin(tlsPin), authorities };
  return { address, port: port ?? (isTls ? 853 : 53), by: 'operator', key, tls: isTls ? tls : undefined };
}

async function transferOne(
  context: Context,
  primary: Primary,
  text: string,
  account: string,
  options: TransferOptions & { readonly signatures: SignatureTreatment },
): Promise<Outcome> {
  const parsed = parseZoneName(text);
  if ('reason' in parsed) return { name: text, refusal: parsed.reason };
  const { name, apex } = parsed;
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-transfer-'));
  const file = join(directory, name.replaceAll('/', '_'));
  try {
    const { copyZone } = await import('../../transfer/in/copy.js');
    const descriptor = openSync(file, 'wx', 0o600);
    const { random, egress } = context;
    const stream = { clock: new SystemClock(), random, egress, signal: new AbortController().signal };
    const copied = await copyZone(stream, primary, apex, descriptor).finally(() => closeSync(descriptor));
    const { importZone } = await import('../../control/imports/zone.js');
    const result = await importZone(context, {
      source: { file },
      origin: name,
      accountId: account,
      signatures: treatmentFor(copied.isSigned, options.signatures),
      ...(options.automaticSoa ? { automaticSoa: true } : {}),
      ...(options.replace ? { replace: true } : {}),
    });
    return { name, result, outside: copied.outside };
  } catch (error) {
    if (error instanceof TransferFailed)
      return { name, refusal: `${options.from}: ${error.message}${adviceFor(error)}` };
    if (error instanceof AppError || error instanceof UserError) return { name, refusal: messageOf(error) };
    throw error;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** A list may also have zones that are not signed, of which no signatures are to be kept or made. */
function treatmentFor(isSigned: boolean, treatment: SignatureTreatment): SignatureTreatment {
  return isSigned || treatment.kind === 'strip' ? treatment : { kind: 'refuse' };
}

function adviceFor({ fault }: TransferFailed): string {
  return fault === 'refused' ? '; it must allow transfers to this address, or with a key (--tsig-file)' : '';
}

/** The file that an issue names was ours; its lines say nothing to a reader. */
function withoutPlace({ severity, code, message }: Issue, name: string): Issue {
  return { severity, code, message: `${name}: ${message}` };
}

function report(
  { name, result, refusal, outside = 0 }: Outcome,
  { dryRun, from }: TransferOptions,
  terminal: CommandContext['terminal'],
): void {
  for (const { severity, message } of result?.issues ?? []) terminal.complain(`${severity}: ${name}: ${message}`);
  if (outside > 0) terminal.complain(`warning: ${name}: ${outside} records outside the zone were left out`);
  if (refusal !== undefined) terminal.complain(`${name}: not transferred: ${refusal}`);
  else if (!result?.imported) terminal.complain(`${name}: not taken, nothing has changed`);
  else {
    const done = dryRun ? 'would take' : 'took';
    terminal.print(`${done} ${name} from ${from}: ${result.records} records, serial ${result.serial}`);
  }
}

function viewOutcome({ name, result, refusal, outside = 0 }: Outcome): object {
  return {
    name,
    imported: result?.imported ?? false,
    zone_id: result?.zoneId,
    serial: result?.serial,
    records: result?.records ?? 0,
    outside,
    issues: (result?.issues ?? []).map((issue) => withoutPlace(issue, name)),
    refusal,
  };
}
