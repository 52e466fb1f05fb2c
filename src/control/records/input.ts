/**
 * Reads what a client sent for a record: the shape of its members, and nothing that needs the zone. `undefined` means that
 * the member is absent or to be ignored (v4: §0 rule 9, §5.3).
 */

import { AppError } from '../../base/errors.js';
import { typeByMnemonic } from '../../dns/rr/registry.js';
import { RdataError, type RRType } from '../../dns/rr/type.js';
import type { RecordSettings } from '../../store/records/records.js';
import { badBody } from '../write/errors.js';

/**
 * A record as a client sends it, unchecked: hand over the parsed JSON body as it is. Types and ranges are checked here, so
 * that every surface answers the same errors; unknown members are ignored (v4: §0 rule 9).
 */
export interface RecordInput {
  readonly type?: unknown;
  readonly name?: unknown;
  readonly content?: unknown;
  readonly data?: unknown;
  readonly ttl?: unknown;
  readonly proxied?: unknown;
  readonly priority?: unknown;
  readonly comment?: unknown;
  readonly tags?: unknown;
  readonly settings?: unknown;
  readonly private_routing?: unknown;
}

export interface RecordFields {
  readonly type: string | undefined;
  readonly name: string | undefined;
  readonly content: string | undefined;
  readonly data: Readonly<Record<string, unknown>> | undefined;
  /** Read later by rules/ttl.ts; null stands for automatic. */
  readonly ttl: unknown;
  readonly proxied: boolean | undefined;
  /** Checked by the type. */
  readonly priority: unknown;
  /** Null clears it. */
  readonly comment: string | null | undefined;
  readonly tags: readonly string[] | undefined;
  readonly settings: Readonly<Record<string, unknown>> | undefined;
  readonly privateRouting: boolean | undefined;
}

/** Throws 9207 with a pointer to the member at fault. */
export function readFields(input: unknown): RecordFields {
  if (!isObject(input)) throw badBody('expected an object');
  const comment = input['comment'];
  return {
    type: readText(input, 'type'),
    name: readText(input, 'name'),
    content: readText(input, 'content'),
    data: readObject(input, 'data'),
    ttl: input['ttl'],
    proxied: readBoolean(input, 'proxied'),
    priority: input['priority'] ?? undefined,
    comment: comment === null || comment === '' ? null : readText(input, 'comment'),
    tags: readTexts(input, 'tags'),
    settings: readObject(input, 'settings'),
    privateRouting: readBoolean(input, 'private_routing'),
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function readText(input: Readonly<Record<string, unknown>>, member: string): string | undefined {
  const value = input[member] ?? undefined;
  if (value !== undefined && typeof value !== 'string') throw badBody(`${member} must be a string`, `/${member}`);
  return value;
}

function readBoolean(input: Readonly<Record<string, unknown>>, member: string): boolean | undefined {
  const value = input[member] ?? undefined;
  if (value !== undefined && typeof value !== 'boolean') throw badBody(`${member} must be true or false`, `/${member}`);
  return value;
}

function readObject(input: Readonly<Record<string, unknown>>, member: string): Record<string, unknown> | undefined {
  const value = input[member] ?? undefined;
  if (value !== undefined && !isObject(value)) throw badBody(`${member} must be an object`, `/${member}`);
  return value;
}

function readTexts(input: Readonly<Record<string, unknown>>, member: string): readonly string[] | undefined {
  const value = input[member] ?? undefined;
  if (value === undefined) return undefined;
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) {
    throw badBody(`${member} must be a list of strings`, `/${member}`);
  }
  return value;
}

/** The type a client names. SPF is historic and stored as TXT; SOA is made by the service (v4: §5.2). */
export function readType(text: string): RRType {
  const mnemonic = text.trim().toUpperCase();
  if (mnemonic === 'SOA') throw badBody('SOA records are made by the service and edited in the DNS settings', '/type');
  const type = typeByMnemonic(mnemonic === 'SPF' ? 'TXT' : mnemonic);
  if (!type?.creatable) throw badBody(`${text.slice(0, 40)} is not a record type that can be created`, '/type');
  return type;
}

/**
 * The name that older clients of SRV give in parts inside `data` (v4: §6 SRV), for want of a whole one: a top-level name that
 * begins with an underscore is whole.
 */
export function legacyServiceName(fields: RecordFields): string | undefined {
  const { service, proto, name } = fields.data ?? {};
  if (typeof service !== 'string' || typeof proto !== 'string' || fields.name?.trim().startsWith('_')) return undefined;
  const label = (text: string): string => (text.startsWith('_') ? text : `_${text}`);
  const host = typeof name === 'string' ? name.trim() : (fields.name ?? '').trim();
  const prefix = `${label(service.trim())}.${label(proto.trim())}`;
  return host === '' || host === '@' || host === '.' ? prefix : `${prefix}.${host}`;
}

const SETTINGS_BY_TYPE: Readonly<Record<string, readonly (keyof RecordSettings)[]>> = {
  A: ['ipv4_only', 'ipv6_only'],
  AAAA: ['ipv4_only', 'ipv6_only'],
  CNAME: ['ipv4_only', 'ipv6_only', 'flatten_cname'],
};

/** The settings that mean something to the type, over the stored ones; null members are left out. */
export function readSettings(
  type: string,
  sent: Readonly<Record<string, unknown>> | undefined,
  stored: RecordSettings,
): RecordSettings {
  const settings: Record<string, boolean> = {};
  for (const member of SETTINGS_BY_TYPE[type] ?? []) {
    const value = sent && member in sent ? sent[member] : stored[member];
    if (value === undefined || value === null) continue;
    if (typeof value !== 'boolean') throw badBody(`${member} must be true or false`, `/settings/${member}`);
    settings[member] = value;
  }
  if (settings['ipv4_only'] && settings['ipv6_only']) {
    throw badBody('ipv4_only and ipv6_only exclude each other', '/settings');
  }
  return settings;
}

/** Runs a conversion of dns/rr; its refusals become v4 errors. */
export function convert<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof RdataError)) throw error;
    throw new AppError('records.badValue', 400, error.code, error.message, error.pointer);
  }
}
