import js from '@eslint/js';
import { defineConfig } from 'eslint/config';
import * as regexp from 'eslint-plugin-regexp';
import tseslint from 'typescript-eslint';

const globals = Object.fromEntries(
  ['Buffer', 'URL', 'clearTimeout', 'performance', 'process', 'setTimeout'].map((name) => [name, 'readonly']),
);

export default defineConfig(
  { ignores: ['dist/', '.dist-*/', 'data/', '.tap/'] },
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-console': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
    },
  },
  {
    // No expression has two ways to match the same octets, or looks at a text more than once.
    files: ['src/**/*.ts', 'workers/**/*.ts'],
    plugins: { regexp },
    rules: {
      'regexp/no-dupe-disjunctions': ['error', { report: 'all', reportExponentialBacktracking: 'potential' }],
      'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
      'regexp/no-super-linear-move': [
        'error',
        { report: 'potential', ignoreSticky: false, ignorePartial: false },
      ],
      'regexp/optimal-quantifier-concatenation': ['error', { capturingGroups: 'ignore' }],
    },
  },
  {
    // They run as they are, before anything is built.
    files: ['eslint.config.js', 'scripts/*.js'],
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: { globals },
    rules: { '@typescript-eslint/explicit-module-boundary-types': 'off' },
  },
);
