/** The templates of a kind: the settings that a client may send, and their defaults. */
import { z } from 'zod';
import type { NodeConsoleType } from './console-types.js';
import { givenAdapters } from './custom-adapters.js';
import { word } from './fields.js';

/** The settings that every template has beside its ids. */
export interface TemplateSettings {
  readonly name: string;
  readonly category: number | string;
  readonly default_name_format: string;
  readonly symbol: string;
  readonly [special: string]: unknown;
}

export interface TemplateRules {
  /** The schema of the settings that a client may send; everything is optional. */
  readonly settings: z.ZodObject;
  readonly defaults: Omit<TemplateSettings, 'name'>;
  /** Further defaults that depend on what the client has given. */
  readonly defaultsFor?: (given: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;
  /** The settings that a new template must have, beside those of all kinds. */
  readonly required?: readonly string[];
  /** Says why the complete settings of a template do not go together. */
  readonly faultIn?: (settings: Readonly<Record<string, unknown>>) => string | undefined;
}

export interface BuiltinTemplate extends TemplateSettings {
  /** The reference's id: stock clients and saved projects know it. */
  readonly template_id: string;
}

const name = z.string().min(1).max(255).optional();

/** The name of a file in the folder of base configurations, or an absolute path. */
export const fileName = z.string().max(4096);

/** The schema of the settings that all templates have, and of the special ones of a kind. */
export function templateSettings(special: z.ZodRawShape): z.ZodObject {
  return z.strictObject({
    name,
    category: z.union([z.int(), z.enum(['router', 'switch', 'guest', 'firewall'])]).optional(),
    default_name_format: name,
    symbol: name,
    ...special,
  });
}

/** The settings of templates whose nodes have a console. */
export function consoleSettings(types: readonly NodeConsoleType[]): z.ZodRawShape {
  return { console_type: z.enum(types).optional(), console_auto_start: z.boolean().optional() };
}

/** Defaults of templates whose nodes have a console by telnet. */
export const consoleDefaults = { console_auto_start: false, console_type: 'telnet' };

/** Defaults of templates of routers with configurations. */
export const routerDefaults = { ...consoleDefaults, category: 'router', private_config: '' };

/** Defaults of templates of guests whose adapters have addresses. */
export const guestDefaults = {
  ...consoleDefaults,
  category: 'guest',
  custom_adapters: [],
  default_name_format: '{name}-{0}',
  mac_address: '',
};

/** The settings of templates whose ports have names by a format. */
export const portNameSettings = {
  first_port_name: word.optional(),
  port_name_format: word.optional(),
  port_segment_size: z.int().min(0).optional(),
  custom_adapters: givenAdapters.optional(),
};
