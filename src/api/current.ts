/**
 * Requests in a cluster read what all nodes have: before anything is read, the copy gets what others have appended to the log.
 * A write that is one commit begins without that look, unless other nodes have written just now; see
 * control/kernel/read-point.ts.
 */
import type { FastifyReply, FastifyRequest, RouteHandlerMethod, RouteOptions } from 'fastify';
import { AppError } from '../base/errors.js';
import { isConfirmed, isOutdated, Outdated, openReadPoint, type ReadPoint } from '../control/kernel/read-point.js';
import type { Store } from '../store/driver.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Present while the request rests on what this node has, without a look at the log. */
    readPoint: ReadPoint | null;
  }
  interface FastifyContextConfig {
    /**
     * Whether the handler makes one commit, and has no effect before it, so that it can run again when that has written
     * nothing. `small body`: only for a body that is small enough to be kept for that.
     */
    oneCommit?: boolean | 'small body';
  }
}

/** The copy of a node that follows the log of a cluster. */
export interface FollowingCopy {
  /** Applies what was appended before this call, if PostgreSQL answers; never rejects. */
  refresh(): Promise<void>;
  /** Whether nobody else has written for a while. */
  isQuiet(): boolean;
}

export interface CurrentReads {
  /** Call before anything is read for a request. */
  begin(request: FastifyRequest): Promise<void>;
  /** Runs `read` of a request that has begun; again after a look when it fails and other nodes have written. */
  read(request: FastifyRequest, read: () => Promise<void>): Promise<void>;
  /** For each route. `readAgain`: repeats what was read before the handler. */
  wrapHandler(route: RouteOptions, readAgain: (request: FastifyRequest) => Promise<void>): void;
}

/** Without a copy that follows, nothing is looked at. */
export function createCurrentReads(store: Store, copy: FollowingCopy | undefined): CurrentReads {
  /** Whether what the request has read is what all nodes had at some time since it began. Ends its read point. */
  async function isCurrent(request: FastifyRequest): Promise<boolean> {
    const point = request.readPoint;
    if (!point) return true;
    request.readPoint = null;
    if (isConfirmed(store, point)) return true;
    await copy?.refresh();
    return !isOutdated(store, point);
  }

  async function isFinal(request: FastifyRequest, error: unknown): Promise<boolean> {
    if (error instanceof Outdated) {
      request.readPoint = null;
      await copy?.refresh();
      return false;
    }
    // What failed for another reason than a refusal may have been stored.
    return !isRefusal(error) || isCurrent(request);
  }

  return {
    async begin(request) {
      if (!copy) return;
      if (mayRunAgain(request) && copy.isQuiet()) request.readPoint = openReadPoint(store);
      else await copy.refresh();
    },
    async read(request, read) {
      try {
        await read();
      } catch (error) {
        if (await isFinal(request, error)) throw error;
        await read();
      }
    },
    wrapHandler(route, readAgain) {
      if (!copy || !route.config?.oneCommit) return;
      const handler = route.handler as (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;
      const answerCurrent = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
        try {
          const answer = await handler(request, reply);
          if (await isCurrent(request)) return answer;
        } catch (error) {
          if (await isFinal(request, error)) throw error;
        }
        request.outcome = null;
        await readAgain(request);
        return handler(request, reply);
      };
      route.handler = answerCurrent as RouteHandlerMethod;
    },
  };
}

/** The largest body that is kept, octets. */
const MOST_KEPT = 64 * 1024;

function mayRunAgain({ routeOptions, headers }: FastifyRequest): boolean {
  const { oneCommit = false } = routeOptions.config;
  return oneCommit === 'small body' ? Number(headers['content-length'] ?? Number.NaN) <= MOST_KEPT : oneCommit;
}

function isRefusal(error: unknown): boolean {
  return error instanceof AppError && error.status < 500;
}
