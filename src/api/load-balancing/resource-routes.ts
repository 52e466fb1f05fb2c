/** The routes of one kind of object of load balancing, from one declaration: a list, and what is done with one of them. */
import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Members } from '../../balancing/members.js';
import type { BalancingItem } from '../../control/balancing/item.js';
import type { Context } from '../../control/kernel/context.js';
import type { Store } from '../../store/driver.js';
import { success } from '../envelope.js';
import { onePage } from '../paging.js';
import { queryOf } from '../request.js';
import type { Routes } from '../routing/route.js';
import { answersOne, onlyId } from '../schema.js';
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

export function balancingResource(app: Routes, resource: BalancingResource): void {
  addList(app, resource);
  addReads(app, resource);
  addWrites(app, resource);
}

function idOf(request: FastifyRequest, { id }: BalancingResource): string {
  return (request.params as Record<string, string>)[id]!;
}

function addList(app: Routes, resource: BalancingResource): void {
  const { path, many, params, item, view, config, isLong, querystring } = resource;
  app.get(
    path,
    {
      ...config.read,
      ...(isLong && { readsLong: isLong }),
      summary: `List ${many}`,
      params: params[0],
      list: item,
      ...(querystring && { querystring }),
    },
    async (ctx, request) =>
      onePage((await resource.list(ctx, resource.ofWhat(ctx, request), request)).map(view), queryOf(request)),
  );
}

function addReads(app: Routes, resource: BalancingResource): void {
  const { path, id, one, params, item, view, config } = resource;
  app.get(
    `${path}/:${id}`,
    { ...config.read, summary: `Get ${one}`, params: params[1], answer: item },
    async (ctx, request, reply) => {
      const found = await resource.get(ctx, resource.ofWhat(ctx, request), idOf(request, resource));
      tag(reply, resource, found);
      return view(found);
    },
  );
}

/** Objects of an account have entity tags of their own; those of a zone have that of the zone. */
function tag(reply: FastifyReply, { config }: BalancingResource, item: BalancingItem): void {
  if (config.read.objectState !== undefined) reply.header('etag', item.tag);
}

function addWrites(app: Routes, resource: BalancingResource): void {
  const { path, id, one, params, item, view, body, edit } = resource;
  const config = resource.config.write;
  const response = answersOne(item);
  type Run = (ctx: Context, of: string, body: Members, id: string) => Promise<BalancingItem>;
  const writing = (run: Run) => async (ctx: Context, request: FastifyRequest<object>, reply: FastifyReply) => {
    const of = resource.ofWhat(ctx, request);
    const result = await run(ctx, of, request.body as Members, idOf(request, resource));
    tag(reply, resource, result);
    return success(view(result), messagesOf(result));
  };

  app.post(
    path,
    { ...config, summary: `Create ${one}`, params: params[0], body, response },
    writing((ctx, of, body) => resource.create(ctx, of, body)),
  );
  app.put(
    `${path}/:${id}`,
    { ...config, summary: `Replace ${one}`, params: params[1], body, response },
    writing((ctx, of, body, id) => resource.replace(ctx, of, id, body)),
  );
  app.patch(
    `${path}/:${id}`,
    { ...config, summary: `Edit ${one}`, params: params[1], body: edit, response },
    writing((ctx, of, body, id) => resource.change(ctx, of, id, body)),
  );
  app.delete(
    `${path}/:${id}`,
    { ...config, summary: `Delete ${one}`, params: params[1], answer: z.union([onlyId, item]) },
    async (ctx, request) => {
      const gone = await resource.remove(ctx, resource.ofWhat(ctx, request), idOf(request, resource));
      return 'members' in gone ? view(gone) : gone;
    },
  );
}
