package api_test

import (
	"maps"

	"mizan/api"
	"mizan/ledger/directory"
)

var administrators = only(directory.Admin)

// consoleMatrixOfAdmin has the console's routes for the administration. The last rows are pages that need the administration
// token. The tests' visitors have not entered this token, so each of these pages redirects them to the page that asks for it,
// whatever the id is.
var consoleMatrixOfAdmin = map[api.RouteName]consoleRow{
	{Method: "GET", Path: "/console/admin/partners"}:                  {roles: administrators, status: 200},
	{Method: "GET", Path: "/console/admin/partners/new"}:              {roles: administrators, status: 200},
	{Method: "POST", Path: "/console/admin/partners/new"}:             {roles: administrators, status: 422},
	{Method: "GET", Path: "/console/admin/partners/:id"}:              {roles: administrators, status: 200, target: aPartner},
	{Method: "GET", Path: "/console/admin/partners/:id/edit"}:         {roles: administrators, status: 200, target: aPartner},
	{Method: "POST", Path: "/console/admin/partners/:id/edit"}:        {roles: administrators, status: 303, target: aPartner},
	{Method: "GET", Path: "/console/admin/partners/:id/delete"}:       {roles: administrators, status: 200, target: aPartner},
	{Method: "POST", Path: "/console/admin/partners/:id/delete"}:      {roles: administrators, status: 303, target: aSparePartner},
	{Method: "GET", Path: "/console/admin/partners/:id/settlements"}:  {roles: administrators, status: 403, target: aPartner},
	{Method: "POST", Path: "/console/admin/partners/:id/settlements"}: {roles: administrators, status: 403, target: aPartner},

	{Method: "GET", Path: "/console/admin/terminals"}:                    {roles: administrators, status: 200},
	{Method: "GET", Path: "/console/admin/terminals/new"}:                {roles: administrators, status: 200},
	{Method: "POST", Path: "/console/admin/terminals/new"}:               {roles: administrators, status: 422},
	{Method: "GET", Path: "/console/admin/terminals/:id"}:                {roles: administrators, status: 200, target: aTerminal},
	{Method: "GET", Path: "/console/admin/terminals/:id/edit"}:           {roles: administrators, status: 200, target: aTerminal},
	{Method: "POST", Path: "/console/admin/terminals/:id/edit"}:          {roles: administrators, status: 303, target: aTerminal},
	{Method: "GET", Path: "/console/admin/terminals/:id/delete"}:         {roles: administrators, status: 200, target: aTerminal},
	{Method: "POST", Path: "/console/admin/terminals/:id/delete"}:        {roles: administrators, status: 303, target: aTerminal},
	{Method: "GET", Path: "/console/admin/terminals/:id/settlements"}:    {roles: administrators, status: 403, target: aTerminal},
	{Method: "POST", Path: "/console/admin/terminals/:id/settlements"}:   {roles: administrators, status: 403, target: aTerminal},
	{Method: "GET", Path: "/console/admin/terminals/:id/test-delivery"}:  {roles: administrators, status: 200, target: aTerminal},
	{Method: "POST", Path: "/console/admin/terminals/:id/test-delivery"}: {roles: administrators, status: 422, target: aTerminal},

	{Method: "GET", Path: "/console/admin/keys"}:             {roles: administrators, status: 200},
	{Method: "GET", Path: "/console/admin/keys/new"}:         {roles: administrators, status: 200},
	{Method: "POST", Path: "/console/admin/keys/new"}:        {roles: administrators, status: 422},
	{Method: "GET", Path: "/console/admin/keys/:id"}:         {roles: administrators, status: 200, target: aKey},
	{Method: "GET", Path: "/console/admin/keys/:id/delete"}:  {roles: administrators, status: 200, target: aKey},
	{Method: "POST", Path: "/console/admin/keys/:id/delete"}: {roles: administrators, status: 303, target: aKey},

	{Method: "GET", Path: "/console/admin/limits"}:             {roles: administrators, status: 200},
	{Method: "GET", Path: "/console/admin/limits/new"}:         {roles: administrators, status: 200},
	{Method: "POST", Path: "/console/admin/limits/new"}:        {roles: administrators, status: 422},
	{Method: "GET", Path: "/console/admin/limits/:id"}:         {roles: administrators, status: 200, target: aLimit},
	{Method: "GET", Path: "/console/admin/limits/:id/edit"}:    {roles: administrators, status: 200, target: aLimit},
	{Method: "POST", Path: "/console/admin/limits/:id/edit"}:   {roles: administrators, status: 303, target: aLimit},
	{Method: "GET", Path: "/console/admin/limits/:id/delete"}:  {roles: administrators, status: 200, target: aLimit},
	{Method: "POST", Path: "/console/admin/limits/:id/delete"}: {roles: administrators, status: 303, target: aLimit},

	{Method: "GET", Path: "/console/admin/blocklist"}:             {roles: administrators, status: 200},
	{Method: "GET", Path: "/console/admin/blocklist/new"}:         {roles: administrators, status: 200},
	{Method: "POST", Path: "/console/admin/blocklist/new"}:        {roles: administrators, status: 422},
	{Method: "GET", Path: "/console/admin/blocklist/:id"}:         {roles: administrators, status: 200, target: aBlock},
	{Method: "GET", Path: "/console/admin/blocklist/:id/delete"}:  {roles: administrators, status: 200, target: aBlock},
	{Method: "POST", Path: "/console/admin/blocklist/:id/delete"}: {roles: administrators, status: 303, target: aBlock},

	{Method: "GET", Path: "/console/admin/rates"}:      {roles: administrators, status: 200},
	{Method: "GET", Path: "/console/admin/rates/new"}:  {roles: administrators, status: 200},
	{Method: "POST", Path: "/console/admin/rates/new"}: {roles: administrators, status: 422},
	{Method: "GET", Path: "/console/admin/rates/:id"}:  {roles: administrators, status: 200, target: aRate},

	{Method: "GET", Path: "/console/admin/users"}:             {roles: administrators, status: 200},
	{Method: "GET", Path: "/console/admin/users/new"}:         {roles: administrators, status: 200},
	{Method: "POST", Path: "/console/admin/users/new"}:        {roles: administrators, status: 422},
	{Method: "GET", Path: "/console/admin/users/:id"}:         {roles: administrators, status: 200, target: aUser},
	{Method: "GET", Path: "/console/admin/users/:id/edit"}:    {roles: administrators, status: 200, target: aUser},
	{Method: "POST", Path: "/console/admin/users/:id/edit"}:   {roles: administrators, status: 303, target: aUser},
	{Method: "GET", Path: "/console/admin/users/:id/delete"}:  {roles: administrators, status: 200, target: aUser},
	{Method: "POST", Path: "/console/admin/users/:id/delete"}: {roles: administrators, status: 303, target: aUser},

	{Method: "GET", Path: "/console/admin/circuits"}:               {roles: administrators, status: 200},
	{Method: "GET", Path: "/console/admin/changes"}:                {roles: administrators, status: 200},
	{Method: "GET", Path: "/console/admin/search"}:                 {roles: administrators, status: 200},
	{Method: "GET", Path: "/console/admin/deliveries"}:             {roles: administrators, status: 200},
	{Method: "GET", Path: "/console/admin/deliveries/replay"}:      {roles: administrators, status: 200},
	{Method: "POST", Path: "/console/admin/deliveries/replay"}:     {roles: administrators, status: 422},
	{Method: "GET", Path: "/console/admin/deliveries/:id"}:         {roles: administrators, status: 200, target: aDelivery},
	{Method: "GET", Path: "/console/admin/deliveries/:id/replay"}:  {roles: administrators, status: 200, target: aDelivery},
	{Method: "POST", Path: "/console/admin/deliveries/:id/replay"}: {roles: administrators, status: 303, target: aDelivery},

	{Method: "GET", Path: "/console/admin/system"}:                  {roles: administrators, status: 200, needsToken: true},
	{Method: "GET", Path: "/console/admin/cluster"}:                 {roles: administrators, status: 200, needsToken: true},
	{Method: "GET", Path: "/console/admin/cluster/transfer"}:        {roles: administrators, status: 200, needsToken: true, query: "?shard=1"},
	{Method: "POST", Path: "/console/admin/cluster/transfer"}:       {roles: administrators, status: 303, needsToken: true, form: "shard=1&node=n2"},
	{Method: "GET", Path: "/console/admin/organizations"}:           {roles: administrators, status: 303, needsToken: true},
	{Method: "GET", Path: "/console/admin/organizations/new"}:       {roles: administrators, status: 303, needsToken: true},
	{Method: "POST", Path: "/console/admin/organizations/new"}:      {roles: administrators, status: 303, needsToken: true},
	{Method: "GET", Path: "/console/admin/organizations/:id"}:       {roles: administrators, status: 303, needsToken: true, target: anOrganization},
	{Method: "GET", Path: "/console/admin/organizations/:id/edit"}:  {roles: administrators, status: 303, needsToken: true, target: anOrganization},
	{Method: "POST", Path: "/console/admin/organizations/:id/edit"}: {roles: administrators, status: 303, needsToken: true, target: anOrganization},
	{Method: "GET", Path: "/console/admin/settlements"}:             {roles: administrators, status: 303, needsToken: true},
	{Method: "GET", Path: "/console/admin/settlements/:id"}:         {roles: administrators, status: 303, needsToken: true, target: aSettlement},
}

func init() { maps.Copy(consoleMatrix, consoleMatrixOfAdmin) }
