/** The routes of one kind of object of load balancing, from one declaration: a list, and what is done with one of them. */
import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Members } from '../../balancing/members.js';
import type { BalancingItem } from '../../control/balancing/item.js';
import type { Context } from '../../control/kernel/context.js';
import type { Store } from '../../store/driver.js';
import { success } from '../envelope.js';
import { onePage } from '../paging.js';
import type { ContextOf, RouteScope } from '../request.js';
import { answersList, answersOne, onlyId } from '../schema.js';
import { messagesOf } from './view.js';

export interface BalancingResource {
  readonly path: string;
  /** The parameter with the identifier of one. */
  readonly id: string;
  /** Parameters of the list and of one. */
  readonly params: readonly [list: z.ZodType, one: z.ZodType];
  readonly one: string;
  readonly many: string;
  /** Of what it is asked: identifier of the account or zone. */
  readonly ofWhat: (ctx: Context, request: FastifyRequest) => string;
  readonly config: { readonly read: FastifyContextConfig; readonly write: FastifyContextConfig };
  readonly querystring?: z.ZodType;
  /** Whether the list is so long that a thread of its own reads it. */
  readonly isLong?: (request: FastifyRequest, store: Store) => boolean;
  readonly item: z.ZodType;
  readonly body: z.ZodType;
  readonly edit: z.ZodType;
  readonly view: (item: BalancingItem) => unknown;
  readonly list: (ctx: Context, of: string, request: FastifyRequest) => Promise<BalancingItem[]>;
  readonly create: (ctx: Context, of: string, body: Members) => Promise<BalancingItem>;
  readonly get: (ctx: Context, of: string, id: string) => Promise<BalancingItem>;
  readonly replace: (ctx: Context, of: string, id: string, body: Members) => Promise<BalancingItem>;
  readonly change: (ctx: Context, of: string, id: string, body: Members) => Promise<BalancingItem>;
  readonly remove: (ctx: Context, of: string, id: string) => Promise<{ readonly id: string } | BalancingItem>;
}

export const tags = ['Load balancing'];

export function balancingResource(app: RouteScope, contextOf: ContextOf, resource: BalancingResource): void {
  addList(app, contextOf, resource);
  addReads(app, contextOf, resource);
  addWrites(app, contextOf, resource);
}

function idOf(request: FastifyRequest, { id }: BalancingResource): string {
  return (request.params as Record<string, string>)[id]!;
}

function addList(app: RouteScope, contextOf: ContextOf, resource: BalancingResource): void {
  const { path, many, params, item, view, config, isLong, querystring } = resource;
  app.get(
    path,
    {
      config: { ...config.read, ...(isLong && { readsLong: isLong }) },
      schema: {
        ...{ tags, summary: `List ${many}`, params: params[0], response: answersList(item) },
        ...(querystring && { querystring }),
      },
    },
    async (request) => {
      const ctx = contextOf(request);
      return onePage((await resource.list(ctx, resource.ofWhat(ctx, request), request)).map(view));
    },
  );
}

function addReads(app: RouteScope, contextOf: ContextOf, resource: BalancingResource): void {
  const { path, id, one, params, item, view, config } = resource;
  app.get(
    `${path}/:${id}`,
    { config: config.read, schema: { tags, summary: `Get ${one}`, params: params[1], response: answersOne(item) } },
    async (request, reply) => {
      const ctx = contextOf(request);
      const found = await resource.get(ctx, resource.ofWhat(ctx, request), idOf(request, resource));
      tag(reply, resource, found);
      return success(view(found));
    },
  );
}

/** Objects of an account have entity tags of their own; those of a zone have that of the zone. */
function tag(reply: FastifyReply, { config }: BalancingResource, item: BalancingItem): void {
  if (config.read.objectState !== undefined) reply.header('etag', item.tag);
}

function addWrites(app: RouteScope, contextOf: ContextOf, resource: BalancingResource): void {
  const { path, id, one, params, item, view, body, edit } = resource;
  const config = resource.config.write;
  const response = answersOne(item);
  const written = async (
    request: FastifyRequest,
    reply: FastifyReply,
    run: (ctx: Context, of: string) => Promise<BalancingItem>,
  ) => {
    const ctx = contextOf(request);
    const result = await run(ctx, resource.ofWhat(ctx, request));
    tag(reply, resource, result);
    return success(view(result), messagesOf(result));
  };
  const bodyOf = (request: FastifyRequest): Members => request.body as Members;

  app.post(
    path,
    { config, schema: { tags, summary: `Create ${one}`, params: params[0], body, response } },
    async (request, reply) => written(request, reply, (ctx, of) => resource.create(ctx, of, bodyOf(request))),
  );
  app.put(
    `${path}/:${id}`,
    { config, schema: { tags, summary: `Replace ${one}`, params: params[1], body, response } },
    async (request, reply) =>
      written(request, reply, (ctx, of) => resource.replace(ctx, of, idOf(request, resource), bodyOf(request))),
  );
  app.patch(
    `${path}/:${id}`,
    { config, schema: { tags, summary: `Edit ${one}`, params: params[1], body: edit, response } },
    async (request, reply) =>
      written(request, reply, (ctx, of) => resource.change(ctx, of, idOf(request, resource), bodyOf(request))),
  );
  app.delete(
    `${path}/:${id}`,
    {
      config,
      schema: {
        ...{ tags, summary: `Delete ${one}`, params: params[1] },
        response: answersOne(z.union([onlyId, item])),
      },
    },
    async (request) => {
      const ctx = contextOf(request);
      const gone = await resource.remove(ctx, resource.ofWhat(ctx, request), idOf(request, resource));
      return success('members' in gone ? view(gone) : gone);
    },
  );
}
