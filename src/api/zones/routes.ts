/** `/zones`: list, create, get, edit, delete, check the delegation again (v4: §3). */
import type { FastifyRequest } from 'fastify';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { checkActivation } from '../../control/zones/activation.js';
import type { ZoneItem } from '../../control/zones/item.js';
import { stateOfZone } from '../../control/zones/state.js';
import {
  createZone,
  deleteZone,
  editZone,
  getZone,
  listZones,
  type NameFilter,
  type NameOperator,
  type ZoneQuery,
} from '../../control/zones/zones.js';
import type { Store } from '../../store/driver.js';
import { hasMoreZones } from '../../store/zones/unusual.js';
import { type Message, success, successPage } from '../envelope.js';
import { pageOf, resultInfo, ZONE_PAGES } from '../paging.js';
import { choiceValue, choiceValues, type Query, switchValue, textValue } from '../query.js';
import { type ContextOf, callerOf, queryOf } from '../request.js';
import { answersList, answersOne, onlyId } from '../schema.js';
import {
  NAME_OPERATORS,
  ZONE_ORDERS,
  ZONE_STATUSES,
  ZONE_TYPES,
  zone,
  zoneCreation,
  zoneEdit,
  zoneParams,
  zoneQuery,
} from './schema.js';
import { permissionsOf, zoneView } from './view.js';

const tags = ['Zones'];

/** Zones that are looked through in a millisecond or two. */
const FEW_ZONES = 2000;

/** One zone by its name is what most clients ask for. */
function isLong(request: FastifyRequest, store: Store): boolean {
  const { name, ...others } = queryOf(request);
  const isOne = name !== undefined && Object.keys(others).every((other) => SIZES.has(other));
  return !isOne && hasMoreZones(store, FEW_ZONES);
}

const SIZES: ReadonlySet<string> = new Set(['page', 'per_page']);

export const zoneRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  app.get(
    '/zones',
    {
      config: { area: 'any', readsLong: isLong },
      schema: { tags, summary: 'List zones', querystring: zoneQuery, response: answersList(zone) },
    },
    async (request) => {
      const page = pageOf(queryOf(request), ZONE_PAGES);
      const context = contextOf(request);
      const { items, totalCount } = await listZones(context, { ...filterOf(queryOf(request)), ...page });
      const { actor } = callerOf(request);
      const withState = switchValue(queryOf(request), 'include_state') ?? false;
      const views = items.map((item) =>
        zoneView(item, permissionsOf(actor, item), withState ? stateOfZone(context, item) : undefined),
      );
      return successPage(views, resultInfo(page, views.length, totalCount));
    },
  );

  app.post(
    '/zones',
    {
      config: { area: 'any', addsZones: true, zoneState: 'write', oneCommit: true },
      schema: { tags, summary: 'Create a zone', body: zoneCreation, response: answersOne(zone) },
    },
    async (request) => {
      const item = await createZone(contextOf(request), request.body);
      return success(zoneView(item, permissionsOf(callerOf(request).actor, item)));
    },
  );

  app.get(
    '/zones/:zone_id',
    {
      config: { area: 'zone', zoneState: 'read' },
      schema: { tags, summary: 'Get a zone', params: zoneParams, response: answersOne(zone) },
    },
    async (request) => {
      const item = await getZone(contextOf(request), request.params.zone_id);
      return success(zoneView(item, permissionsOf(callerOf(request).actor, item)));
    },
  );

  app.patch(
    '/zones/:zone_id',
    {
      config: { area: 'zone', zoneState: 'write', oneCommit: true },
      schema: { tags, summary: 'Edit a zone', params: zoneParams, body: zoneEdit, response: answersOne(zone) },
    },
    async (request) => {
      const item = await editZone(contextOf(request), request.params.zone_id, request.body);
      return success(zoneView(item, permissionsOf(callerOf(request).actor, item)));
    },
  );

  app.delete(
    '/zones/:zone_id',
    {
      config: { area: 'zone', zoneState: 'write', oneCommit: true },
      schema: { tags, summary: 'Delete a zone and its records', params: zoneParams, response: answersOne(onlyId) },
    },
    async (request) => success({ id: await deleteZone(contextOf(request), request.params.zone_id) }),
  );

  app.put(
    '/zones/:zone_id/activation_check',
    {
      config: { area: 'zone', zoneState: 'write' },
      schema: { tags, summary: 'Check the delegation again', params: zoneParams, response: answersOne(onlyId) },
    },
    async (request) => {
      const item = await checkActivation(contextOf(request), request.params.zone_id);
      return success({ id: item.id }, [activationMessage(item)]);
    },
  );
};

function activationMessage({ name, status, nameServers }: ZoneItem): Message {
  if (status === 'active') return { code: 10204, message: `${name} is active.` };
  const remedy = `its parent must delegate it to ${nameServers.join(' and ')}`;
  return { code: 10205, message: `${name} is not active yet: ${remedy}.` };
}

/** The filters of a list of zones (v4: §3.3). */
function filterOf(query: Query): ZoneQuery {
  const name = textValue(query, 'name');
  const encloses = textValue(query, 'encloses');
  const accountId = textValue(query, 'account.id');
  const accountName = textValue(query, 'account.name');
  const statuses = choiceValues(query, 'status', ZONE_STATUSES);
  const types = choiceValues(query, 'type', ZONE_TYPES);
  const match = choiceValue(query, 'match', ['all', 'any']);
  const order = choiceValue(query, 'order', ZONE_ORDERS);
  const direction = choiceValue(query, 'direction', ['asc', 'desc']);
  return {
    ...(name === undefined ? {} : { name: nameFilter(name) }),
    ...(encloses === undefined ? {} : { encloses }),
    ...(accountId === undefined ? {} : { accountId }),
    ...(accountName === undefined ? {} : { accountName: nameFilter(accountName) }),
    ...(statuses.length === 0 ? {} : { statuses }),
    ...(types.length === 0 ? {} : { types }),
    ...(match === undefined ? {} : { match }),
    ...(order === undefined ? {} : { order }),
    ...(direction === undefined ? {} : { direction }),
  };
}

/** `contains:shop`; a text without a known operator is the whole name. */
function nameFilter(text: string): NameFilter {
  const colon = text.indexOf(':');
  const operator = NAME_OPERATORS.find((candidate) => candidate === text.slice(0, Math.max(colon, 0)));
  if (operator === undefined) return { operator: 'equal', value: text };
  return { operator: operator satisfies NameOperator, value: text.slice(colon + 1) };
}
