/** Common parts of bucket requests: the bucket, and the headers with options (v4: §13). */
import type { FastifyRequest } from 'fastify';
import type { AppError } from '../../base/errors.js';
import { findChoice } from '../../bucket/bucket-name.js';
import { JURISDICTIONS, type Jurisdiction, STORAGE_CLASSES, type StorageClass } from '../../store/objects/buckets.js';
import { failure } from '../errors.js';

type WithHeaders = Pick<FastifyRequest, 'headers'>;

/** The first value of a header; undefined for a missing or an empty one. */
function headerText(request: WithHeaders, name: string): string | undefined {
  const value = request.headers[name];
  return (Array.isArray(value) ? value[0] : value) || undefined;
}

/** The namespace of the bucket's name. Throws 400 for an unknown one. */
export function jurisdictionOf(request: FastifyRequest): Jurisdiction {
  return headerChoice(request, 'cf-r2-jurisdiction', JURISDICTIONS) ?? 'default';
}

const STORAGE_CLASS = 'cf-r2-storage-class';

/** Throws 400 for an unknown one. */
export function storageClassOf(request: WithHeaders): StorageClass | undefined {
  return headerChoice(request, STORAGE_CLASS, STORAGE_CLASSES);
}

/** Throws 400 for an unknown or missing one. */
export function requireStorageClass(request: FastifyRequest): StorageClass {
  const storageClass = storageClassOf(request);
  if (storageClass === undefined) throw badHeader(STORAGE_CLASS, STORAGE_CLASSES);
  return storageClass;
}

function headerChoice<Choice extends string>(
  request: WithHeaders,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const text = headerText(request, name);
  if (text === undefined) return undefined;
  const choice = findChoice(choices, text);
  if (choice === undefined) throw badHeader(name, choices);
  return choice;
}

function badHeader(name: string, choices: readonly string[]): AppError {
  return failure('badHeader', { name, expected: `one of ${choices.join(', ')}` });
}
