/** The routes of a plain resource of an account, from one declaration: a list, and what is done with one of its members. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Area } from '../control/guard/permissions.js';
import type { Context } from '../control/kernel/context.js';
import { accountParams } from './accounts/schema.js';
import { success } from './envelope.js';
import { onePage, type PageSizes, pageFrom } from './paging.js';
import type { Query } from './query.js';
import { type ContextOf, queryOf } from './request.js';
import { answersList, answersOne, onlyId } from './schema.js';

export interface AccountResource<Item, Body, Change = Body> {
  readonly tags: string[];
  /** Below the account, such as `secondary_dns/acls`. */
  readonly path: string;
  /** The parameter with the identifier of one. */
  readonly id: string;
  readonly params: z.ZodType;
  /** For the documentation, such as `an ACL` and `ACLs`. */
  readonly one: string;
  readonly many: string;
  readonly item: z.ZodType;
  readonly body: z.ZodType<Body>;
  /** The body of a replacement; the same if absent. */
  readonly change?: z.ZodType<Change>;
  /** The query parameters of the list. */
  readonly query?: z.ZodType;
  /** Whether the list says which page it is (v4): a single page, or one of pages of these sizes. */
  readonly isPaged: boolean | PageSizes;
  /** Whether a write is one commit, see {@link FastifyContextConfig}. */
  readonly oneCommit: boolean;
  /** What a token needs; `account` if absent. */
  readonly area?: Area;
  /** The entity tag of one: writes then are dry runs on request, and depend on conditions. */
  tagOf?(item: Item): string;
  view(item: Item): unknown;
  list(ctx: Context, account: string, query: Query): Promise<readonly Item[]>;
  create(ctx: Context, account: string, body: Body): Promise<Item>;
  get(ctx: Context, account: string, id: string): Promise<Item>;
  /** Absent where nothing can be changed. */
  replace?(ctx: Context, account: string, id: string, body: Change): Promise<Item>;
  remove(ctx: Context, account: string, id: string): Promise<{ readonly id: string }>;
}

export function accountResource<Item, Body, Change = Body>(
  app: FastifyInstance,
  contextOf: ContextOf,
  resource: AccountResource<Item, Body, Change>,
): void {
  const { tags, params, one, many, item, body, query, isPaged, view } = resource;
  const [all, single] = [
    `/accounts/:account_id/${resource.path}`,
    `/accounts/:account_id/${resource.path}/:${resource.id}`,
  ];
  const { area = 'account', tagOf } = resource;
  const config = { area };
  const reads = { ...config, ...(tagOf && ({ objectState: 'read' } as const)) };
  const writes = {
    ...config,
    ...(tagOf && ({ objectState: 'write' } as const)),
    ...(resource.oneCommit && { oneCommit: true }),
  };
  const shownTo = (reply: FastifyReply, found: Item) => {
    if (tagOf) reply.header('etag', tagOf(found));
    return success(view(found));
  };
  const idsOf = (request: FastifyRequest): readonly [account: string, id: string] => {
    const known = request.params as Record<string, string>;
    return [known.account_id!, known[resource.id]!];
  };
  const shown = answersOne(item);
  const list = isPaged ? answersList(item) : answersOne(z.array(item));

  app.get(
    all,
    {
      config,
      schema: {
        ...{ tags, summary: `List ${many}`, params: accountParams, response: list },
        ...(query && { querystring: query }),
      },
    },
    async (request) => {
      const asked = queryOf(request);
      const items = await resource.list(contextOf(request), idsOf(request)[0], asked);
      if (!isPaged) return success(items.map(view));
      return isPaged === true ? onePage(items.map(view)) : pageFrom(asked, isPaged, items, view);
    },
  );
  app.post(
    all,
    { config: writes, schema: { tags, summary: `Create ${one}`, params: accountParams, body, response: shown } },
    async (request, reply) =>
      shownTo(reply, await resource.create(contextOf(request), idsOf(request)[0], request.body as Body)),
  );
  app.get(
    single,
    { config: reads, schema: { tags, summary: `Get ${one}`, params, response: shown } },
    async (request, reply) => shownTo(reply, await resource.get(contextOf(request), ...idsOf(request))),
  );
  const { replace } = resource;
  if (replace) {
    app.put(
      single,
      {
        config: writes,
        schema: { tags, summary: `Replace ${one}`, params, body: resource.change ?? body, response: shown },
      },
      async (request, reply) =>
        shownTo(reply, await replace(contextOf(request), ...idsOf(request), request.body as Change)),
    );
  }
  app.delete(
    single,
    { config: writes, schema: { tags, summary: `Delete ${one}`, params, response: answersOne(onlyId) } },
    async (request) => success(await resource.remove(contextOf(request), ...idsOf(request))),
  );
}
