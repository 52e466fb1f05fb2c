/** Declares routes: a handler gets the context of its request, and what it returns is answered in the envelope (v4: §1.2). */
import type { FastifyContextConfig, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import type { z } from 'zod';
import type { Context } from '../../control/kernel/context.js';
import { type Success, success } from '../envelope.js';
import type { ContextOf, RouteScope } from '../request.js';
import { answersList, answersOne } from '../schema.js';

/** What is said about a route: what it takes and answers, and how it is treated (request.ts). */
export interface Declared extends FastifyContextConfig {
  readonly tags?: readonly string[];
  readonly summary?: string;
  readonly description?: string;
  readonly params?: z.ZodType;
  readonly querystring?: z.ZodType;
  readonly headers?: z.ZodType;
  readonly body?: z.ZodType;
  /** Media types of the body, if it is not JSON. */
  readonly consumes?: readonly string[];
  readonly security?: readonly [];
  /** Whether the documentation leaves it out. */
  readonly hide?: boolean;
  /** Octets. */
  readonly bodyLimit?: number;
  /** False: HEAD has a route of its own. */
  readonly exposeHeadRoute?: boolean;
  /** The one result, which the handler returns by itself. */
  readonly answer?: z.ZodType;
  /** An item of the list, which the handler returns in its envelope. */
  readonly list?: z.ZodType;
  /** All responses by their status, if it is neither; the handler returns what is sent. */
  readonly response?: Readonly<Record<string | number, z.ZodType>>;
}

type Taken<D, Part extends 'params' | 'body'> =
  D extends Readonly<Record<Part, infer Shape extends z.ZodType>> ? z.output<Shape> : unknown;

type Asked<D> = FastifyRequest<{ Params: Taken<D, 'params'>; Body: Taken<D, 'body'> }>;

type Returned<D> = D extends { readonly answer: infer One extends z.ZodType }
  ? z.input<One>
  : D extends { readonly list: infer Item extends z.ZodType }
    ? Success<z.input<Item>[]>
    : D extends { readonly response: { readonly 200: infer Whole extends z.ZodType } }
      ? z.input<Whole> | FastifyReply
      : unknown;

type AddRoute<C> = <const D extends Declared>(
  path: string,
  declared: D,
  handler: (ctx: C, request: Asked<D>, reply: FastifyReply) => Promise<Returned<D>>,
) => void;

/** The same of a route that needs no context, because anybody may use it or its use case makes one. */
type AddOpenRoute = <const D extends Declared>(
  path: string,
  declared: D,
  handler: (request: Asked<D>, reply: FastifyReply) => Promise<Returned<D>>,
) => void;

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete'] as const;
type Method = (typeof METHODS)[number];

/** What routes are added to. */
export interface Routes<C extends Context = Context> extends Readonly<Record<Method, AddRoute<C>>> {
  readonly open: Readonly<Record<Method, AddOpenRoute>>;
  /** For other things than routes, such as parsers of bodies. */
  readonly scope: RouteScope;
  /** The same, whose handlers also get `more`. */
  with<More extends object>(more: More): Routes<C & More>;
  /** The same below another scope of fastify. */
  below(scope: RouteScope): Routes<C>;
  /** The same, where `shared` applies to all routes that do not say something else. */
  sharing(shared: Declared): Routes<C>;
}

/** Adds the routes of a resource. */
export type AddRoutes<Parts = unknown> = (app: Routes, parts: Parts) => void | Promise<void>;

/** Adds routes to which what is `shared` applies, unless they say something else. */
export function routes<Parts = unknown>(shared: Declared, add: AddRoutes<Parts>): AddRoutes<Parts> {
  return (app, parts) => add(app.sharing(shared), parts);
}

export function routesOf<C extends Context>(
  scope: RouteScope,
  contextOf: (...asked: Parameters<ContextOf>) => C,
  shared: Declared = {},
): Routes<C> {
  const open = methodsOf<AddOpenRoute>((method) => (path, declared, handler) => {
    add(scope, { method, url: path }, { ...shared, ...declared }, handler as Handler);
  });
  const withContext = methodsOf<AddRoute<C>>((method) => (path, declared, handler) => {
    const answer: Handler = (request, reply) => handler(contextOf(request), request as never, reply);
    add(scope, { method, url: path }, { ...shared, ...declared }, answer);
  });
  return {
    ...withContext,
    ...{ open, scope },
    with: (more) => routesOf(scope, (request) => ({ ...contextOf(request), ...more }), shared),
    below: (inner) => routesOf(inner, contextOf, shared),
    sharing: (more) => routesOf(scope, contextOf, { ...shared, ...more }),
  };
}

function methodsOf<Add>(make: (method: HTTPMethods) => Add): Readonly<Record<Method, Add>> {
  return Object.fromEntries(METHODS.map((name) => [name, make(name.toUpperCase() as HTTPMethods)])) as Record<
    Method,
    Add
  >;
}

/** Members of a declaration that the schema of fastify has; the others configure the route. */
const OF_SCHEMA: ReadonlySet<string> = new Set([
  ...['tags', 'summary', 'description', 'hide', 'security', 'consumes'],
  ...['params', 'querystring', 'headers', 'body'],
]);

function responseOf({ answer, list, response }: Declared) {
  if (answer) return { response: answersOne(answer) };
  if (list) return { response: answersList(list) };
  return response && { response };
}

function add(
  scope: RouteScope,
  route: { readonly method: HTTPMethods; readonly url: string },
  declared: Declared,
  handler: Handler,
): void {
  const { answer, list: _, response: __, bodyLimit, exposeHeadRoute, ...members } = declared;
  const pick = (ofSchema: boolean) =>
    Object.fromEntries(Object.entries(members).filter(([name]) => OF_SCHEMA.has(name) === ofSchema));
  scope.route({
    ...route,
    ...(bodyLimit !== undefined && { bodyLimit }),
    ...(exposeHeadRoute !== undefined && { exposeHeadRoute }),
    config: pick(false),
    schema: { ...pick(true), ...responseOf(declared) },
    handler: async (request: FastifyRequest, reply: FastifyReply) => {
      const result = await handler(request, reply);
      return answer ? success(result) : result;
    },
  });
}
