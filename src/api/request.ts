/** What the HTTP layer stores with a request between its hooks and the use case. */
import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { makeId } from '../base/random.js';
import type { KeyItem } from '../control/access/item.js';
import type { Actor } from '../control/guard/actor.js';
import type { Area } from '../control/guard/permissions.js';
import { turnOf } from '../control/guard/turn-of.js';
import type { Context, ContextBase } from '../control/kernel/context.js';
import type { WriteOutcome } from '../control/kernel/zone-outcome.js';
import type { Store } from '../store/driver.js';
import { preconditionOf } from './conditions.js';
import { HungUp } from './errors.js';
import { type Query, switchValue } from './query.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The sender; null until the credential is checked, and on routes without one. */
    caller: Caller | null;
    /** Null until its hooks begin. */
    response: ServerResponse | null;
    /** What this request's commits did to zones; null before it reaches a use case. */
    outcome: WriteOutcome | null;
    /** Entity tag of the state that the request reads; empty when it has none. */
    zoneTag: string;
  }
  interface FastifyContextConfig {
    /**
     * `public`: no credential. `local`: none when the API listens on loopback only. `metrics`: none when the metrics are public,
     * or from this machine. Default: a credential is needed.
     */
    access?: 'public' | 'local' | 'metrics';
    /** Whether a bad token is answered with 401/1000 (v4: §15.1). */
    verifiesToken?: boolean;
    /** Whether a token is also accepted as the password of Basic authentication (RFC 7617). */
    takesPassword?: boolean;
    /** Whether a session begins here: with a credential or with a link for signing in. */
    signsIn?: boolean;
    /** Whether it is only for sessions, not for keys and tokens by themselves. */
    needsSession?: boolean;
    /** Whether it serves people who must enrol a second factor before they can do anything else. */
    enrols?: boolean;
    /** Whether the handler reads the octets of the body itself. */
    rawBody?: boolean;
    /**
     * The subject of the route, for tokens with policies (permission.ts); `any`: the use case decides what is shown.
     */
    area?: Area | 'any';
    /**
     * Whether the use case applies restrictions to certain records; other routes refuse tokens with such restrictions.
     */
    narrowable?: boolean;
    /** Adds zones: a credential that may add none is refused before its request is read. */
    addsZones?: boolean;
    /**
     * `read`: shows a zone's state with its entity tag. `write`: changes it if the precondition holds, and supports dry
     * runs.
     */
    zoneState?: 'read' | 'write';
    /** The same of another object, whose state has an entity tag of its own: the use case examines the precondition. */
    objectState?: 'read' | 'write';
  }
}

export interface Caller {
  readonly actor: Actor;
  /** Undefined: a person who signed in as themself. */
  readonly key?: KeyItem | undefined;
  readonly scheme: 'token' | 'key' | 'session';
  /** Hash of the secret of `key`, as it was when the request came. */
  readonly keyHash?: Uint8Array | undefined;
  /** The state of the database before the credential was looked up (`committedState`). */
  readonly state?: number | undefined;
  /** The session of the browser that sent the request. */
  readonly session?: string;
  /** Whether the person must enrol a second factor before anything else. */
  readonly mustEnrol?: boolean;
}

/** The object to which a plugin adds its routes; their handlers get the types of their schemas. */
export type RouteScope = Parameters<FastifyPluginAsyncZod>[0];

/** Creates the context of a request; the route plugins receive this function. */
export type ContextOf = (request: FastifyRequest) => Context;

/** `requireStill`: throws when the caller of a request may not do any more what it was permitted. */
export function makeContextOf(base: ContextBase, requireStill?: (request: FastifyRequest) => void): ContextOf {
  return (request) => {
    const precondition = preconditionOf(request);
    request.outcome ??= { zones: [] };
    const turn = turnOfRequest(base.store, request);
    return {
      ...base,
      actor: callerOf(request).actor,
      requestId: request.id,
      source: 'api',
      address: request.clientAddress,
      outcome: request.outcome,
      turnOf: turn,
      ...(precondition && { precondition }),
      ...(requireStill && { requireStill: () => requireStill(request) }),
      ...(request.readPoint && { readPoint: request.readPoint }),
      ...(writesState(request) && { dryRun: isDryRun(request) }),
    };
  };
}

/** The account whose turns a request takes: that of the zone or the account in its path. */
export function turnOfRequest(store: Store, request: FastifyRequest): string {
  const { zone_id: zoneId, account_id: accountId } = request.params as Readonly<Record<string, string | undefined>>;
  return turnOf({ actor: callerOf(request).actor, store }, { zoneId, accountId });
}

/** Identifies a request in logs, events and its answer. */
export function requestIdOf({ clock, random }: Pick<ContextBase, 'clock' | 'random'>): string {
  return Buffer.from(makeId(clock.nowUs(), random)).toString('hex');
}

/** The checked credential. Every route that is not public has one. */
export function callerOf(request: FastifyRequest): Caller {
  if (!request.caller) throw new Error('a route that needs a credential was reached without one');
  return request.caller;
}

/** Whether the route changes something whose state has an entity tag, and supports dry runs. */
export function writesState({ routeOptions: { config } }: FastifyRequest): boolean {
  return config.zoneState === 'write' || config.objectState === 'write';
}

/** Whether a write is a dry run. */
export function isDryRun(request: FastifyRequest): boolean {
  return switchValue(queryOf(request), 'dry_run') ?? false;
}

/** The query as query.ts parsed it. */
export function queryOf(request: FastifyRequest): Query {
  return request.query as Query;
}

/** Ends the wait of a client that has gone, with {@link HungUp}. */
export function whenGone({ raw }: FastifyReply): AbortSignal {
  const abort = new AbortController();
  const leave = (): void => abort.abort(new HungUp());
  if (raw.destroyed) leave();
  else raw.once('close', leave);
  return abort.signal;
}
