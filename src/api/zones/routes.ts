/** `/zones`: list, create, get, edit, delete, check the delegation again (v4: §3). */
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
import { type Message, success, successPage } from '../envelope.js';
import { pageOf, resultInfo, ZONE_PAGES } from '../paging.js';
import { choiceValue, choiceValues, type Query, switchValue, textValue } from '../query.js';
import { callerOf, queryOf } from '../request.js';
import { type Routes, routes } from '../routing/route.js';
import { answersOne, onlyId } from '../schema.js';
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

/** Zones that are looked through in a millisecond or two. */
const FEW_ZONES = 2000;

export const zoneRoutes = routes({ tags: ['Zones'] }, (app) => {
  addList(app);

  app.post(
    '/zones',
    {
      area: 'any',
      addsZones: true,
      zoneState: 'write',
      oneCommit: true,
      summary: 'Create a zone',
      body: zoneCreation,
      answer: zone,
    },
    async (ctx, request) => {
      const item = await createZone(ctx, request.body);
      return zoneView(item, permissionsOf(callerOf(request).actor, item));
    },
  );

  app.get(
    '/zones/:zone_id',
    { area: 'zone', zoneState: 'read', summary: 'Get a zone', params: zoneParams, answer: zone },
    async (ctx, request) => {
      const item = await getZone(ctx, request.params.zone_id);
      return zoneView(item, permissionsOf(callerOf(request).actor, item));
    },
  );

  app.patch(
    '/zones/:zone_id',
    {
      area: 'zone',
      zoneState: 'write',
      oneCommit: true,
      summary: 'Edit a zone',
      params: zoneParams,
      body: zoneEdit,
      answer: zone,
    },
    async (ctx, request) => {
      const item = await editZone(ctx, request.params.zone_id, request.body);
      return zoneView(item, permissionsOf(callerOf(request).actor, item));
    },
  );

  app.delete(
    '/zones/:zone_id',
    {
      area: 'zone',
      zoneState: 'write',
      oneCommit: true,
      summary: 'Delete a zone and its records',
      params: zoneParams,
      answer: onlyId,
    },
    async (ctx, { params }) => ({ id: await deleteZone(ctx, params.zone_id) }),
  );

  app.put(
    '/zones/:zone_id/activation_check',
    {
      area: 'zone',
      zoneState: 'write',
      summary: 'Check the delegation again',
      params: zoneParams,
      response: answersOne(onlyId),
    },
    async (ctx, { params }) => {
      const item = await checkActivation(ctx, params.zone_id);
      return success({ id: item.id }, [activationMessage(item)]);
    },
  );
});

function addList(app: Routes): void {
  app.get(
    '/zones',
    { area: 'any', readsLong: 'if too long', summary: 'List zones', querystring: zoneQuery, list: zone },
    async (ctx, request) => {
      const page = pageOf(queryOf(request), ZONE_PAGES);
      const mostRead = request.mayMove ? FEW_ZONES : undefined;
      const { items, totalCount } = await listZones(ctx, { ...filterOf(queryOf(request)), ...page, mostRead });
      const { actor } = callerOf(request);
      const withState = switchValue(queryOf(request), 'include_state') ?? false;
      const views = items.map((item) =>
        zoneView(item, permissionsOf(actor, item), withState ? stateOfZone(ctx, item) : undefined),
      );
      return successPage(views, resultInfo(page, views.length, totalCount));
    },
  );
}

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
