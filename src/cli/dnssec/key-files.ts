/** `zoneplane dnssec export|import`: keys as the files that BIND, Knot, NSD, ldns and PowerDNS read and write. */
import { closeSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { makeDirectories } from '../../base/directories.js';
import { UserError } from '../../base/errors.js';
import { explainFileFailure } from '../../base/file-failure.js';
import { getDnssec } from '../../control/dnssec/delegation.js';
import { type ExportedKey, exportKeys, importKeys } from '../../control/dnssec/key-files.js';
import type { OfferedKey } from '../../control/imports/signatures.js';
import { Type } from '../../dns/codes.js';
import { lowerName, parseName, ROOT } from '../../dns/name.js';
import { type ParsedRecord, readZone } from '../../dns/zonefile/parser.js';
import { printRecord } from '../../dns/zonefile/writer.js';
import { parsePrivateKeyFile } from '../../dnssec/private-key-file.js';
import { keyMaterial, openKey, SigningKeyError } from '../../dnssec/signing-key.js';
import type { Command, CommandContext } from '../command.js';
import { DATA_SETTINGS, requireZoneNamed, withControl } from '../control.js';
import { addSettingOptions } from '../settings.js';

/** TTL in the written DNSKEY files, in seconds. */
const KEY_TTL = 3600;

export function addKeyFileCommands(dnssec: Command, context: CommandContext): void {
  addExport(dnssec, context);
  addImport(dnssec, context);
}

function addExport(dnssec: Command, { terminal, environment }: CommandContext): void {
  const command = dnssec
    .command('export')
    .description("write the keys of a zone, private keys included, as files of BIND's format")
    .argument('<zone>', 'name or identifier of the zone')
    .argument('[directory]', 'where the files are written, mode 0600; existing ones are not overwritten', '.')
    .printsJson('zoneplane dnssec export example.com keys');
  addSettingOptions(command, DATA_SETTINGS).action(async (name: string, directory: string, { json }: JsonOption) => {
    const files = await withControl(command, environment, async (ctx, _, unlock) => {
      await unlock();
      const zone = await requireZoneNamed(ctx, name);
      return (await exportKeys(ctx, zone.id)).map((key) => keyFiles(directory, zone.asciiName, key));
    });
    writeAll(directory, files.flat());
    const written = files.map(([{ path }]) => path);
    if (json) terminal.json({ files: written });
    else for (const path of written) terminal.print(path);
  });
}

interface JsonOption {
  readonly json?: boolean;
}

interface KeyFile {
  readonly path: string;
  readonly text: string;
}

/** The private key, then the public one. */
function keyFiles(
  directory: string,
  zone: string,
  { tag, algorithm, dnskey, privateKey }: ExportedKey,
): [KeyFile, KeyFile] {
  const pad = (value: number, digits: number): string => String(value).padStart(digits, '0');
  const base = join(directory, `K${zone}.+${pad(algorithm, 3)}+${pad(tag, 5)}`);
  const owner = parseName(`${zone}.`, ROOT);
  const line = printRecord({ owner, type: Type.dnskey, ttl: KEY_TTL, rdata: dnskey });
  return [
    { path: `${base}.private`, text: privateKey },
    { path: `${base}.key`, text: `${line}\n` },
  ];
}

/** Writes all files or leaves none. Throws a UserError. */
function writeAll(directory: string, files: readonly KeyFile[]): void {
  makeDirectories(directory, 0o700);
  const written: string[] = [];
  for (const { path, text } of files) {
    try {
      const descriptor = openSync(path, 'wx', 0o600);
      written.push(path);
      try {
        writeFileSync(descriptor, text);
      } finally {
        closeSync(descriptor);
      }
    } catch (error) {
      for (const done of written) rmSync(done, { force: true });
      throw explainFileFailure(error, path);
    }
  }
}

function addImport(dnssec: Command, { terminal, environment }: CommandContext): void {
  const command = dnssec
    .command('import')
    .description('sign a zone with keys that it has already, so that the DS record at its parent stays good')
    .argument('<zone>', 'name or identifier of the zone')
    .argument(
      '<files...>',
      "private keys in BIND's format or PEM; the DNSKEY is in a file beside each, with the ending .key",
    )
    .printsJson('zoneplane dnssec import example.com Kexample.com.+013+*.private');
  addSettingOptions(command, DATA_SETTINGS).action(
    async (name: string, files: readonly string[], options: JsonOption) => {
      await withControl(command, environment, async (ctx, _, unlock) => {
        await unlock();
        const zone = await requireZoneNamed(ctx, name);
        await importKeys(
          ctx,
          zone.id,
          files.map((file) => readKey(file).key),
        );
        const { status, key } = await getDnssec(ctx, zone.id);
        if (options.json)
          return terminal.json({ zone: zone.asciiName, status, imported: files.length, ds: key?.ds?.line ?? null });
        terminal.print(`${zone.asciiName}: ${status}, signed with ${files.length} imported keys.`);
        if (key?.ds) terminal.print(`  ${key.ds.line}`);
      });
    },
  );
}

/** The keys of all `.private` files of a directory, for the zones that their DNSKEY records name. */
export function readKeyDirectory(directory: string): OfferedKey[] {
  let names: string[];
  try {
    names = readdirSync(directory);
  } catch (error) {
    throw new UserError(`${directory} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  const files = names.filter((name) => name.endsWith('.private'));
  if (files.length === 0) throw new UserError(`${directory} has no private keys (files with the ending .private)`);
  return files.sort().map((name) => readKey(join(directory, name)));
}

/** A private key with the DNSKEY beside it, which says its flags. */
export function readKey(file: string): OfferedKey {
  const { owner, rdata: dnskey } = readDnskey(`${file.replace(/\.(private|pem|key)$/, '')}.key`);
  try {
    const { key, algorithm = dnskey[3]! } = parsePrivateKeyFile(readText(file));
    const material = keyMaterial(key, algorithm, (dnskey[0]! << 8) | dnskey[1]!);
    openKey(dnskey, material.pkcs8);
    return { apex: lowerName(owner), key: { ...material, dnskey } };
  } catch (error) {
    if (error instanceof SigningKeyError) throw new UserError(`${file}: ${error.message}`);
    throw error;
  }
}

function readDnskey(file: string): ParsedRecord {
  const reading = readZone({ text: readText(file) }, { origin: ROOT });
  const found = [...reading.records()].flat().filter(({ type }) => type === Type.dnskey);
  if (found.length !== 1) {
    throw new UserError(`${basename(file)} must have one DNSKEY record, but has ${found.length}`);
  }
  return found[0]!;
}

/** The text of a key file. */
export function readText(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch (error) {
    throw new UserError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}
