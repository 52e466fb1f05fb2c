/** Options that say from which server a zone comes, and with which key. */

import { readFileSync } from 'node:fs';
import { fromBase64, fromHex } from '../../base/bytes.js';
import { messageOf, UserError } from '../../base/errors.js';
import { parseIP } from '../../base/ip.js';
import type { Context } from '../../control/kernel/context.js';
import { listTsigs, type SecondaryServices } from '../../control/secondary/tsigs.js';
import { lowerName, parseName } from '../../dns/name.js';
import { parseTsigAlgorithm, type TsigKey } from '../../dns/tsig.js';
import type { Command } from '../command.js';
import { sameName } from './tsig.js';

export interface PrimaryOptions {
  readonly tsig?: string;
  readonly tsigFile?: string;
  readonly tlsName?: string;
  readonly tlsPin?: string;
}

export function addPrimaryOptions(command: Command): Command {
  return command
    .option('--tsig <name>', 'sign with this key of the account, or with `[algorithm:]name:secret` as dig -y takes it')
    .option('--tsig-file <file>', 'sign with the key in this file, in the form of BIND (tsig-keygen)')
    .option('--tls-name <name>', 'transfer over TLS; the certificate of the server must have this name')
    .option('--tls-pin <hash>', 'transfer over TLS; the SHA-256 hash of the public key of the server');
}

export interface ServerPlace {
  readonly address: string;
  /** Absent: 53, or 853 with TLS. */
  readonly port: number | undefined;
}

/** `address`, or `address#port` as BIND and dig write it. */
export function readServer(text: string): ServerPlace {
  const [address = '', portText, ...more] = text.split(/[#]/);
  const port = portText === undefined ? undefined : Number(portText);
  const isPort = port === undefined || (Number.isInteger(port) && port >= 1 && port <= 65_535);
  if (!parseIP(address) || !isPort || more.length > 0) {
    throw new UserError(
      `${text} is not an address of a server`,
      'Such as 192.0.2.53, 192.0.2.53#5353 or 2001:db8::53.',
      2,
    );
  }
  return { address, port };
}

/** The key that the options name; undefined without one. `stored`: its identifier, for a key of the account. */
export async function readKeyOption(
  context: Context,
  services: SecondaryServices,
  account: string,
  { tsig, tsigFile }: PrimaryOptions,
): Promise<{ readonly key: TsigKey; readonly text: KeyText; readonly stored: string | undefined } | undefined> {
  if (tsig !== undefined && tsigFile !== undefined) {
    throw new UserError('--tsig and --tsig-file exclude each other', undefined, 2);
  }
  if (tsigFile !== undefined) return { ...keyOf(readKeyFile(tsigFile)), stored: undefined };
  if (tsig === undefined) return undefined;
  const parts = tsig.split(':');
  if (parts.length >= 2) {
    const [secret, name, algo = 'hmac-sha256'] = parts.reverse() as [string, string, string?];
    return { ...keyOf({ name, algo, secret }), stored: undefined };
  }
  const known = (await listTsigs(context, services, account)).find(({ name }) => sameName(name, tsig));
  if (!known) throw new UserError(`there is no TSIG key ${tsig}`, 'See them all with `zoneplane tsig list`.');
  return { ...keyOf(known), stored: known.id };
}

/** A key as the API takes it. */
export interface KeyText {
  readonly name: string;
  readonly algo: string;
  readonly secret: string;
}

function keyOf({ name, algo, secret }: KeyText): { readonly key: TsigKey; readonly text: KeyText } {
  const algorithm = parseTsigAlgorithm(algo);
  const octets = fromBase64(secret);
  if (!algorithm || !octets || octets.length === 0) {
    throw new UserError(`the TSIG key ${name} has no known algorithm, or no secret in base 64`, undefined, 2);
  }
  try {
    const wire = lowerName(parseName(name.endsWith('.') ? name : `${name}.`));
    return { key: { name: wire, algorithm, secret: octets }, text: { name, algo, secret } };
  } catch (error) {
    throw new UserError(`the TSIG key has no valid name: ${messageOf(error)}`, undefined, 2);
  }
}

function readKeyFile(path: string): KeyText {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new UserError(`the key file ${path} cannot be read: ${messageOf(error)}`, undefined, 2);
  }
  const [, name] = /\bkey\s+"?([^\s"{]+)"?\s*\{/.exec(text) ?? [];
  const [, algo] = /\balgorithm\s+"?([^\s";]+)"?\s*;/.exec(text) ?? [];
  const [, secret] = /\bsecret\s+"?([^\s";]+)"?\s*;/.exec(text) ?? [];
  if (!name || !algo || !secret) {
    throw new UserError(`${path} holds no key`, 'It looks like: key "name" { algorithm hmac-sha256; secret "…"; };', 2);
  }
  return { name, algo, secret };
}

/** 32 octets in hexadecimal digits or base 64. */
export function readPin(text: string): Uint8Array {
  const octets = /^[0-9a-f]{64}$/i.test(text) ? fromHex(text) : fromBase64(text);
  if (octets?.length !== 32) {
    throw new UserError(
      `${text} is not a SHA-256 hash`,
      'It has 64 hexadecimal digits, or is 32 octets in base 64.',
      2,
    );
  }
  return octets;
}
