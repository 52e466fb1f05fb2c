/** What the HTTP layer keeps of a request between its hooks and the use case. */
import type { FastifyRequest } from 'fastify';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import type { KeyItem } from '../control/access/item.js';
import type { Area } from '../control/access/permissions.js';
import type { Actor, Context, ContextBase } from '../control/write/context.js';
import type { WriteOutcome } from '../control/write/zone-outcome.js';
import { bodyFailure } from './body.js';
import { preconditionOf } from './conditions.js';
import { type Query, switchValue } from './query.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks; null until the credential is checked, and on routes that need none. */
    caller: Caller | null;
    /** What commits of this request did to zones; null before it reaches a use case. */
    outcome: WriteOutcome | null;
    /** Entity tag of the state the request reads; empty when it has none. */
    zoneTag: string;
  }
  interface FastifyContextConfig {
    /** `public`: no credential. `local`: none when the API listens on loopback only. Default: a credential is needed. */
    access?: 'public' | 'local';
    /** A bad token is answered 401/1000 here (v4: §15.1). */
    verifiesToken?: boolean;
    /** The handler reads the octets of the body itself. */
    rawBody?: boolean;
    /** What the route is about, for tokens with policies (permission.ts); `any`: what is shown is up to the use case. */
    area?: Area | 'any';
    /** The use case heeds limits to certain records; elsewhere a token with such limits may nothing. */
    narrowable?: boolean;
    /** `read`: shows a zone's state, under its entity tag. `write`: changes it, if the state is as demanded; allows dry runs. */
    zoneState?: 'read' | 'write';
  }
}

export interface Caller {
  readonly actor: Actor;
  readonly key: KeyItem;
  readonly scheme: 'token' | 'key';
}

/** Where a plugin adds its routes; their handlers get the types of their schemas. */
export type RouteScope = Parameters<FastifyPluginAsyncZod>[0];

/** Makes the context of a request; the route plugins get one. */
export type ContextOf = (request: FastifyRequest) => Context;

export function makeContextOf(base: ContextBase): ContextOf {
  return (request) => {
    const precondition = preconditionOf(request);
    request.outcome ??= { zones: [] };
    return {
      ...base,
      actor: callerOf(request).actor,
      requestId: request.id,
      source: 'api',
      address: request.ip,
      outcome: request.outcome,
      ...(precondition && { precondition }),
      ...(request.routeOptions.config.zoneState === 'write' && { dryRun: isDryRun(request) }),
    };
  };
}

/** The checked credential. A route that is not public always has one. */
export function callerOf(request: FastifyRequest): Caller {
  if (!request.caller) throw new Error('a route that needs a credential was reached without one');
  return request.caller;
}

/** Whether a write is a dry run. */
export function isDryRun(request: FastifyRequest): boolean {
  return switchValue(queryOf(request), 'dry_run') ?? false;
}

/** The query as query.ts parsed it. */
export function queryOf(request: FastifyRequest): Query {
  return request.query as Query;
}

/** The body as an object. Throws 9207 for anything else; the members are the use case's to judge. */
export function bodyObject(request: FastifyRequest): Readonly<Record<string, unknown>> {
  const { body } = request;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw bodyFailure('it is not a JSON object');
  return body as Record<string, unknown>;
}
