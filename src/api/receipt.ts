/** Receipts of writes: which change they made, and the serial the zone then had, in two response headers (ours). */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { lastChange, newestChangeOfRequest } from '../store/changes.js';
import type { Store } from '../store/driver.js';

/** Number of the change in the change log: a server that has applied this number answers with it. */
export const CHANGE_HEADER = 'zoneplane-change';
/** SOA serial of the zone after the change. */
export const SERIAL_HEADER = 'zoneplane-serial';

const READS = new Set(['GET', 'HEAD', 'OPTIONS']);

export function isWrite(request: FastifyRequest): boolean {
  return !READS.has(request.method);
}

/** Before the handler of a write. */
export function noteChanges(store: Store, request: FastifyRequest): void {
  if (isWrite(request)) request.changesBefore = lastChange(store);
}

/** After it; a write that changed nothing gets no receipt. */
export function addReceipt(store: Store, request: FastifyRequest, reply: FastifyReply): void {
  if (!isWrite(request) || request.changesBefore < 0) return;
  const change = newestChangeOfRequest(store, request.id, request.changesBefore);
  if (!change) return;
  reply.header(CHANGE_HEADER, String(change.seq));
  if (change.serial_to !== null) reply.header(SERIAL_HEADER, String(change.serial_to));
}
