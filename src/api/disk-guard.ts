/**
 * While only the reserve of the disk is left, requests with large bodies are refused, and each user has so many small edits:
 * otherwise one could use up what is kept for all. When that is used up, too, nothing but reading and deleting is possible.
 */
import type { FastifyRequest } from 'fastify';
import { reservedFailure } from '../control/kernel/errors.js';
import { type DiskRoom, ENDLESS_ROOM } from '../store/disk-room.js';

/** Octets of a small body. */
const SMALL_BODY = 64 * 1024;
/** Small edits of one user, from when only the reserve is left. */
const MOST_EDITS = 5000;
const MOST_USERS = 10_000;
const GROWING = new Set(['POST', 'PUT', 'PATCH']);

/** Throws 507. */
export function createDiskGuard(disk: DiskRoom = ENDLESS_ROOM): (request: FastifyRequest) => void {
  const edits = new Map<string, number>();
  return ({ method, headers, caller, routeOptions }) => {
    // Handlers that read their bodies themselves see to it.
    if (!GROWING.has(method) || !caller || routeOptions.config.rawBody) return;
    if (disk.take(0)) {
      edits.clear();
      return;
    }
    if (disk.isUsedUp()) throw reservedFailure();
    const { userId } = caller.actor;
    const made = edits.get(userId) ?? 0;
    const isSmall = Number(headers['content-length'] ?? 0) <= SMALL_BODY && headers['transfer-encoding'] === undefined;
    if (!isSmall || made >= MOST_EDITS || (made === 0 && edits.size >= MOST_USERS)) throw reservedFailure();
    edits.set(userId, made + 1);
  };
}
